import torch
from torch import nn

x = torch.tensor([7.0, -1.0, -1.0, 7.0])  # one token
layer = (x - x.mean()) / x.std(correction=0)
rms = x / x.square().mean().sqrt()
print([round(number, 2) for number in layer.tolist()])
#> [1.0, -1.0, -1.0, 1.0]
print([round(number, 2) for number in rms.tolist()])
#> [1.4, -0.2, -0.2, 1.4]

layer_norm, rms_norm = nn.LayerNorm(4, eps=1e-5), nn.RMSNorm(4, eps=1e-5)
print(torch.allclose(layer, layer_norm(x), atol=1e-5))
#> True
print(torch.allclose(rms, rms_norm(x), atol=1e-5))
#> True
print(torch.allclose(layer_norm(100 * x), layer, atol=1e-5))  # the length is forgotten
#> True
print(torch.allclose(rms_norm(x - x.mean()), layer, atol=1e-5))
#> True
