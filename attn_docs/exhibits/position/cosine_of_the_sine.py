"""Bug: the cosine is taken of what was an angle and is a sine by now."""

import torch


def table(positions, dim, base=10000.0):
    exponent = 2 * (torch.arange(dim) // 2) / dim  # D: 0, 0, 2, 2, …
    x = positions[..., None] * base**-exponent  # … D
    x[..., 0::2] = x[..., 0::2].sin()
    x[..., 1::2] = x[..., 0::2].cos()  # wrong: x[..., 1::2].cos()
    return x
