import torch


def positional(length, dim, base=10000.0):
    exponent = 2 * (torch.arange(dim) // 2) / dim  # 0, 0, 2, 2, …, over D
    x = torch.arange(length)[:, None] * base**-exponent  # n D: the angles
    x[:, 0::2] = x[:, 0::2].sin()
    x[:, 1::2] = x[:, 1::2].cos()
    return x


lengths = positional(5, 8).norm(dim=-1) / 4**0.5
print([round(x, 4) for x in lengths.tolist()])
#> [1.0, 1.0, 1.0, 1.0, 1.0]
