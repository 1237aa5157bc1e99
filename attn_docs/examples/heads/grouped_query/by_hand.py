import math

import torch

from attn_docs import grouped_query_attention_repeat
from attn_docs.exhibits.heads import tiled_key_heads

# the word "sleeps" asks "the", "cat" and "sleeps"; every vector has one number
query = torch.tensor([0.0, math.log(2), 0.0, math.log(2)]).view(1, 4, 1, 1)  # 4 query heads
key = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).view(1, 2, 3, 1)  # 2 key heads
value = torch.tensor([[4.0, 8.0, 0.0], [40.0, 80.0, 0.0]]).view(1, 2, 3, 1)

print("wrong:", tiled_key_heads.attention(query, key, value).flatten().round().tolist())
#> wrong: [4.0, 30.0, 4.0, 30.0]
print("right:", grouped_query_attention_repeat(query, key, value).flatten().round().tolist())
#> right: [4.0, 5.0, 40.0, 30.0]
