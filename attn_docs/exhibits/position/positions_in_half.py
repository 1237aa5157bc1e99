"""Bug: positions are cast to the model's dtype before the angles are computed."""

import torch


def rotate(x, positions, theta=10000.0):  # b h n d, n
    size = x.size(-1)
    positions = positions.to(x.dtype)  # wrong: positions.float()
    angles = positions[:, None] / theta ** (torch.arange(0, size, 2) / size)  # n d/2
    cos, sin = angles.cos(), angles.sin()
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).to(x.dtype)
