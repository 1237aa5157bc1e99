import torch

from attn_docs import apply_rotary
from attn_docs.exhibits.position import positions_in_half

positions = torch.tensor([256, 257, 258, 259, 260])
print(positions.bfloat16().int().tolist())
#> [256, 256, 258, 260, 260]
x = torch.randn(1, 1, 5, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
exact = apply_rotary(x.double(), positions)
for rotate in (apply_rotary, positions_in_half.rotate):
    error = (rotate(x, positions).double() - exact).abs().amax(-1).flatten()
    print([round(e, 2) for e in error.tolist()])
#> [0.0, 0.01, 0.0, 0.0, 0.0]
#> [0.0, 1.19, 0.0, 1.06, 0.0]
