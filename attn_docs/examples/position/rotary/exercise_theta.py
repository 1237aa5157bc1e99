import math

import torch

from attn_docs import apply_rotary

x = torch.tensor([1.0] * 64 + [0.0] * 64).view(1, 1, 1, 128).double()
for theta in (1e4, 4e4, 5e5):
    turned = apply_rotary(x, torch.tensor([1]), theta=theta)[0, 0, 0]
    angles = torch.atan2(turned[64:], turned[:64])  # of each pair, for one position
    waves = 2 * math.pi / angles
    print(f"theta {theta:9,.0f}: from {waves[0]:.2f} to {waves[-1]:9,.0f} positions")
#> theta    10,000: from 6.28 to    54,410 positions
#> theta    40,000: from 6.28 to   212,977 positions
#> theta   500,000: from 6.28 to 2,559,196 positions
