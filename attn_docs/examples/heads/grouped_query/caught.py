import torch

from attn_docs import grouped_query_attention_repeat
from attn_docs.exhibits.heads import (
    grouped_mask_ignored,
    numbers_repeated,
    tiled_key_heads,
)

torch.manual_seed(0)
query = torch.randn(2, 6, 5, 4)  # b h n d
key, value = torch.randn(2, 2, 3, 5, 4).unbind()  # b g m d
flat = [x.transpose(1, 2).flatten(2) for x in (key, value)]  # b m g·d
mask = torch.ones(5, 5, dtype=torch.bool).tril()
right = grouped_query_attention_repeat(query, key, value)
masked = grouped_query_attention_repeat(query, key, value, mask)
ignored = grouped_mask_ignored.attention(query, key, value, mask)
rows = {
    "tiled_key_heads": (tiled_key_heads.attention(query, key, value), right),
    "numbers_repeated": (numbers_repeated.attention(query, *flat, kv_heads=3), right),
    "grouped_mask_ignored": (ignored, masked),
}
for name, (wrong, wanted) in rows.items():
    same = "equal" if torch.allclose(wrong, wanted, atol=1e-5) else "NOT equal"
    print(f"{name:20} shape {wrong.shape == wanted.shape}, {same}")
#> tiled_key_heads      shape True, NOT equal
#> numbers_repeated     shape True, NOT equal
#> grouped_mask_ignored shape True, NOT equal
