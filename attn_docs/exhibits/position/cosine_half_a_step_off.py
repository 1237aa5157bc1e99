"""Bug: the cosine's exponent is half a step ahead of the sine's."""

import torch


def table(positions, dim, base=10000.0):
    dimension = torch.arange(dim)  # D: 0, 1, 2, …
    exponent = dimension / dim  # wrong: 2 * (dimension // 2) / dim
    angle = positions[..., None] * base**-exponent  # … D
    return torch.where(dimension % 2 == 0, angle.sin(), angle.cos())
