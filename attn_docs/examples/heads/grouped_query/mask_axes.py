import torch

from attn_docs import grouped_query_attention_broadcast, padding_mask
from attn_docs.exhibits.heads import mask_meets_groups

torch.manual_seed(0)
for lengths in ([4, 2], [4, 2, 3]):
    batch = len(lengths)
    query = torch.randn(batch, 6, 4, 8)  # b h n d: 6 query heads
    key, value = torch.randn(2, batch, 2, 4, 8).unbind()  # b g m d: 2 key heads
    mask = padding_mask(lengths)[:, None, None, :]  # b 1 1 m
    right = grouped_query_attention_broadcast(query, key, value, mask)
    try:
        wrong = mask_meets_groups.attention(query, key, value, mask)
        print(f"batch {batch}: runs, equal: {torch.allclose(wrong, right)}")
    except RuntimeError:
        print(f"batch {batch}: refused")
#> batch 2: runs, equal: False
#> batch 3: refused
