import torch

from attn_docs import grouped_query_attention_broadcast, padding_mask
from attn_docs.exhibits.heads import mask_meets_groups

torch.manual_seed(0)
for lengths, groups in (([4], 2), ([4, 2], 2), ([4, 2, 3], 2), ([4, 2], 1)):
    batch = len(lengths)
    query = torch.randn(batch, 6, 4, 8)  # b h n d: 6 query heads
    key, value = torch.randn(2, batch, groups, 4, 8).unbind()  # b g m d
    mask = padding_mask(lengths)[:, None, None, :]  # b 1 1 m
    right = grouped_query_attention_broadcast(query, key, value, mask)
    try:
        wrong = mask_meets_groups.attention(query, key, value, mask)
        same = wrong.shape == right.shape and torch.allclose(wrong, right, atol=1e-6)
        print(f"b = {batch}, g = {groups}: {tuple(wrong.shape)}, equal: {same}")
    except RuntimeError:
        print(f"b = {batch}, g = {groups}: refused")
#> b = 1, g = 2: (1, 6, 4, 8), equal: True
#> b = 2, g = 2: (2, 6, 4, 8), equal: False
#> b = 3, g = 2: refused
#> b = 2, g = 1: (2, 12, 4, 8), equal: False
