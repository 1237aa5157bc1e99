import torch

from attn_docs import grouped_query_attention_repeat
from attn_docs.exhibits.heads import tiled_key_heads

torch.manual_seed(0)
query = torch.randn(2, 6, 5, 4)  # 6 query heads
key, value = torch.randn(2, 2, 3, 7, 4).unbind()  # 3 key heads
order = torch.arange(6).view(3, 2).T.flatten()
print(order)
#> tensor([0, 2, 4, 1, 3, 5])
right = grouped_query_attention_repeat(query, key, value)
tiled = tiled_key_heads.attention(query[:, order], key, value)
print(torch.allclose(tiled, right[:, order], atol=1e-6))
#> True
