import torch

from attn_docs import apply_rotary


def rotate(x, positions, theta=10000.0):  # b h n d, n
    angle = positions[:, None] * theta ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = torch.cat((angle, angle), dim=-1)  # n d: pair i is dimensions i and i + d/2
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat((-b, a), dim=-1) * angle.sin()


torch.manual_seed(0)
x = torch.randn(1, 1, 3, 8)
print(torch.allclose(rotate(x, torch.arange(3)), apply_rotary(x, torch.arange(3))))
#> True
