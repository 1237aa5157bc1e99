"""Bug: a counter that runs over even numbers is doubled once more."""

import torch


def table(positions, dim, base=10000.0):
    even = torch.arange(0, dim, 2)  # D/2: 0, 2, 4, …, doubled already
    exponent = 2 * even / dim  # wrong: even / dim
    angle = positions[..., None] * base**-exponent  # … D/2
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # … D
