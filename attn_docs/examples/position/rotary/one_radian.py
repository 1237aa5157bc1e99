import math

import torch

from attn_docs import apply_rotary

query = torch.tensor([3.0, 1.0]).view(1, 1, 1, 2)  # b h n d
key = torch.tensor([2.0, 1.0]).view(1, 1, 1, 2)
for cat, sleeps in ((1, 2), (2, 3), (1001, 1002), (2, 1)):
    turned_key = apply_rotary(key, torch.tensor([cat]))
    turned_query = apply_rotary(query, torch.tensor([sleeps]))
    score = (turned_query * turned_key).sum().item()
    formula = 7 * math.cos(sleeps - cat) + math.sin(sleeps - cat)
    print(f"cat {cat:4}, sleeps {sleeps:4}: {score:.2f}  formula {formula:.2f}")
#> cat    1, sleeps    2: 4.62  formula 4.62
#> cat    2, sleeps    3: 4.62  formula 4.62
#> cat 1001, sleeps 1002: 4.62  formula 4.62
#> cat    2, sleeps    1: 2.94  formula 2.94
