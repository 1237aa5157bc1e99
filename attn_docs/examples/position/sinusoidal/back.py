import torch

from attn_docs import sinusoidal

place = sinusoidal(torch.arange(100), 64)  # n D
pairs = place.unflatten(-1, (-1, 2))  # n D/2 2: (sin, cos)

scores = place @ place.T  # the same vectors as queries and keys
print([round(x, 1) for x in scores[50, 47:54].tolist()])
#> [25.6, 28.3, 30.9, 32.0, 30.9, 28.3, 25.6]

# a key projection that moves each position three on: pair by pair the rotation of before
sin, cos = pairs[3].unbind(-1)  # of three positions
a, b = pairs.unbind(-1)
moved = torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1)
scores = place @ moved.flatten(-2).T
print([round(x, 1) for x in scores[50, 45:52].tolist()])
#> [28.3, 30.9, 32.0, 30.9, 28.3, 25.6, 23.9]
print((scores.argmax(dim=-1)[3:] == torch.arange(97)).all().item())
#> True
