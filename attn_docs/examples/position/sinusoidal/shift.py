import torch

from attn_docs import sinusoidal

table = sinusoidal(torch.arange(2000).double(), 64)  # n D


def shift(k, dim=64, base=10000.0):
    angle = k * base ** -(torch.arange(0, dim, 2).double() / dim)  # D/2
    blocks = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]) for a in angle]
    return torch.block_diag(*blocks).double()  # D D


for k in (1, 5, -100):
    rotation = shift(k)
    moved = table[500:1500] @ rotation.T  # k positions on, for a thousand positions at once
    turns = torch.allclose(rotation @ rotation.T, torch.eye(64).double(), atol=1e-6)
    print(k, torch.allclose(moved, table[500 + k : 1500 + k], atol=1e-4), "rotation:", turns)
#> 1 True rotation: True
#> 5 True rotation: True
#> -100 True rotation: True
