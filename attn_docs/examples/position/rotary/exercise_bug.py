import torch


def rotate(x, positions, theta=10000.0):  # b h n d, n
    angle = positions[:, None] * theta ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = angle.repeat_interleave(2, dim=-1)  # n d: each angle for two dimensions
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat((-b, a), dim=-1) * angle.sin()


torch.manual_seed(0)
x = torch.randn(1, 1, 3, 8)
lengths = x.norm(dim=-1) / rotate(x, torch.arange(3)).norm(dim=-1)
print(lengths.flatten())
#> tensor([1.0000, 0.9346, 1.0298])
