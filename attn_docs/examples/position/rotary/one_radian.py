import math

import torch

from attn_docs import apply_rotary

query = torch.tensor([3.0, 1.0]).view(1, 1, 1, 2)  # b h n d: "chased"
key = torch.tensor([2.0, 1.0]).view(1, 1, 1, 2)  # b h n d: "cat"
for cat, chased in ((1, 2), (2, 3), (1001, 1002), (3, 1)):
    rotated_key = apply_rotary(key, torch.tensor([cat]))
    rotated_query = apply_rotary(query, torch.tensor([chased]))
    score = (rotated_query * rotated_key).sum().item()
    formula = 7 * math.cos(chased - cat) + math.sin(chased - cat)
    print(f"cat {cat:4}, chased {chased:4}: {score:5.2f}  formula {formula:5.2f}")
#> cat    1, chased    2:  4.62  formula  4.62
#> cat    2, chased    3:  4.62  formula  4.62
#> cat 1001, chased 1002:  4.62  formula  4.62
#> cat    3, chased    1: -3.82  formula -3.82
