"""Bug: keys are rotated the other way, so the score depends on the sum of the positions."""

import torch
import torch.nn.functional as F


def rotate(x, angles):  # b h n d, n d/2
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def attention(query, key, value, positions, theta=10000.0):
    size = query.size(-1)
    angles = positions[:, None] / theta ** (torch.arange(0, size, 2, dtype=query.dtype) / size)
    query, key = rotate(query, angles), rotate(key, -angles)  # wrong: rotate(key, angles)
    return F.scaled_dot_product_attention(query, key, value)
