import torch


def positional(positions, dim, base=10000.0):  # …
    pair = torch.arange(0, dim, 2)  # D/2: 0, 2, 4, …, twice the number of the pair
    omega = base ** -(pair / dim)  # D/2: radians for one position
    angle = positions[..., None] * omega  # … D/2
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # … D: sin, cos, …


torch.manual_seed(0)
table = positional(torch.arange(100), 64)  # n D
tokens = torch.randint(50, (2, 100))  # b n
embedding = torch.randn(50, 64) / 64**0.5  # vocab D: rows of length about 1
x = embedding[tokens] * 64**0.5 + table  # b n D: what the first layer gets

near, far = table[2] @ table[5], table[92] @ table[95]  # three positions apart, both times
print(round(near.item(), 2), round(far.item(), 2))
#> 25.59 25.59

from attn_docs import sinusoidal

print(torch.allclose(table, sinusoidal(torch.arange(100), 64), atol=1e-5))
#> True
