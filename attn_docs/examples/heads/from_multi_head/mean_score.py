import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding, multi_head_to_grouped_query, split_heads

torch.manual_seed(0)
x, positions = torch.randn(2, 5, 24), torch.arange(5)
multi = MultiHeadAttention(24, num_heads=6, rotary=RotaryEmbedding(4))
grouped = multi_head_to_grouped_query(multi, num_kv_heads=3)

query = multi.rotary(split_heads(multi.q_proj(x), 6), positions)  # b 6 n d
keys = multi.rotary(split_heads(multi.k_proj(x), 6), positions)  # b 6 n d
pooled = grouped.rotary(split_heads(grouped.k_proj(x), 3), positions)  # b 3 n d
print(torch.allclose(pooled, keys.view(2, 3, 2, 5, 4).mean(2), atol=1e-5))
#> True
score = query[:, 0] @ pooled[:, 0].mT
own, other = query[:, 0] @ keys[:, 0].mT, query[:, 0] @ keys[:, 1].mT
print(torch.allclose(score, (own + other) / 2, atol=1e-5))
#> True
