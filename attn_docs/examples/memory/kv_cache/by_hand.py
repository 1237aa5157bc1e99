import math

import torch
import torch.nn.functional as F

from attn_docs import KVCache

words = ("the", "cat", "sleeps")
keys, values, query = (0.0, 1.0, 0.0), (5.0, 8.0, 3.0), math.log(2)
cache = KVCache(batch=1, num_kv_heads=1, head_dim=1, capacity=3)


def one(number):  # a word's vector: b h n d, all of size 1
    return torch.tensor(number).view(1, 1, 1, 1)


for word, key, value in zip(words, keys, values, strict=True):
    known, kept = cache.update(one(key), one(value))  # one key is new
    output = F.scaled_dot_product_attention(one(query), known, kept).item()
    print(f"{word:6} keys {known.flatten().tolist()} output {output:.1f}")
#> the    keys [0.0] output 5.0
#> cat    keys [0.0, 1.0] output 7.0
#> sleeps keys [0.0, 1.0, 0.0] output 6.0
