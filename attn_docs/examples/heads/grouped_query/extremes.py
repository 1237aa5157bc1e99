import torch

from attn_docs import GroupedQueryAttention, MultiHeadAttention, MultiQueryAttention

torch.manual_seed(0)
x = torch.randn(2, 5, 24)
others = {6: MultiHeadAttention(24, 6), 1: MultiQueryAttention(24, 6)}
for kv_heads, other in others.items():
    grouped = GroupedQueryAttention(24, num_heads=6, num_kv_heads=kv_heads)
    grouped.load_state_dict(other.state_dict())
    print(kv_heads, type(other).__name__, torch.equal(grouped(x), other(x)))
#> 6 MultiHeadAttention True
#> 1 MultiQueryAttention True
