import math

import torch

from attn_docs import apply_rotary

torch.set_printoptions(precision=2)

x = torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(1, 1, 3, 4)  # pairs (0, 2) and (1, 3)
turned = apply_rotary(x, torch.arange(3), theta=16.0)[0, 0]
print(turned)
#> tensor([[ 1.00,  1.00,  0.00,  0.00],
#>         [ 0.54,  0.97,  0.84,  0.25],
#>         [-0.42,  0.88,  0.91,  0.48]])
for position, (a0, a1, b0, b1) in enumerate(turned.tolist()):
    angles = (math.atan2(b0, a0), math.atan2(b1, a1))
    print(position, [round(math.degrees(angle), 1) for angle in angles])
#> 0 [0.0, 0.0]
#> 1 [57.3, 14.3]
#> 2 [114.6, 28.6]
