import torch

from attn_docs import scaled_dot_product_attention
from attn_docs.exhibits.foundations import scores_in_half

query = torch.full((1, 64), 40.0, dtype=torch.float16)
key = torch.full((2, 64), 40.0, dtype=torch.float16)  # 64 · 40 · 40 = 102,400
value = torch.tensor([[1.0], [3.0]], dtype=torch.float16)

print(scores_in_half.attention(query, key, value))
#> tensor([[nan]], dtype=torch.float16)
print(scaled_dot_product_attention(query, key, value))
#> tensor([[2.]], dtype=torch.float16)
