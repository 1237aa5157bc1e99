import torch

from attn_docs import apply_rotary

x = torch.randn(1, 1, 1, 8).expand(1, 1, 8, 8)  # the same vector at eight positions
found = apply_rotary(x, torch.arange(8) // 4)
print([torch.equal(found[:, :, 0], found[:, :, t]) for t in range(8)])
#> [True, True, True, True, False, False, False, False]
