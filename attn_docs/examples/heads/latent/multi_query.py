import torch
import torch.nn.functional as F

from attn_docs import LatentCache, MultiHeadLatentAttention, merge_heads, split_heads

torch.manual_seed(0)
sizes = {"kv_rank": 8, "head_dim": 6, "rope_dim": 4, "value_dim": 5}
attend = MultiHeadLatentAttention(24, 3, **sizes).double()
x, cache = torch.randn(2, 5, 24).double(), LatentCache(2, 8, 4, 5, dtype=torch.float64)
wanted = attend(x, is_causal=True, cache=cache)

up = attend.kv_b_proj.weight.view(3, 6 + 5, 8)  # of each head: to keys, to values
query, rotary = split_heads(attend.q_proj(x), 3).split((6, 4), dim=-1)
query = torch.cat((query @ up[:, :6], attend.rotary(rotary, torch.arange(5))), dim=-1)
key, value = cache.entries, cache.entries[..., :8]  # one key head, one value head
print([tuple(t.shape) for t in (query, key, value)])
#> [(2, 3, 5, 12), (2, 1, 5, 12), (2, 1, 5, 8)]

scale = (6 + 4) ** -0.5
heads = F.scaled_dot_product_attention(
    query, key, value, is_causal=True, scale=scale, enable_gqa=True
)
output = attend.out_proj(merge_heads(heads @ up[:, 6:].mT))
print(torch.allclose(output, wanted, rtol=0, atol=1e-12))
#> True
