import torch

from attn_docs import apply_rotary

content = torch.zeros(1, 1, 24, 64)  # b h n d: 24 tokens with the same query and key
content[..., :16] = 0.25  # only the fast pairs speak; their squares sum to 1
here = torch.arange(24)
query, key = apply_rotary(content, here), apply_rotary(content, here + 1)  # best one token back
for length in (1, 10, 50, 200):  # what training makes of it: longer queries and keys
    weights = torch.softmax(length * query[0, 0, 23] @ key[0, 0].T, dim=-1)  # m
    before, last = weights[22].item(), weights[23].item()
    print(f"length {length:3}: token before {before:.2f}, the token itself {last:.2f}")
#> length   1: token before 0.07, the token itself 0.07
#> length  10: token before 0.46, the token itself 0.23
#> length  50: token before 0.94, the token itself 0.03
#> length 200: token before 1.00, the token itself 0.00
