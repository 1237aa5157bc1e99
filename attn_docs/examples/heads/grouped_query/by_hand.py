import math

import torch

from attn_docs import grouped_query_attention_repeat
from attn_docs.exhibits.heads import tiled_key_heads

# the word "sleeps" asks "the", "cat" and "sleeps"; every vector has one number
ln2 = math.log(2)
query = torch.tensor([0.0, ln2, 0.0, ln2]).view(1, 4, 1, 1)  # 4 query heads
key = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).view(1, 2, 3, 1)  # 2 key heads
value = torch.tensor([[4.0, 8.0, 0.0], [40.0, 80.0, 0.0]]).view(1, 2, 3, 1)

ways = {"wrong": tiled_key_heads.attention, "right": grouped_query_attention_repeat}
for name, attend in ways.items():
    print(name, attend(query, key, value).flatten().round().tolist())
#> wrong [4.0, 30.0, 4.0, 30.0]
#> right [4.0, 5.0, 40.0, 30.0]
