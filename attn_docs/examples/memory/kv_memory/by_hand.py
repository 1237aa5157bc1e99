import torch

from attn_docs import KVCache

# one token: 2 layers, each with 2 heads of 4 numbers, for the key and for the value
print(2 * 2 * 2 * 4 * torch.bfloat16.itemsize)
#> 64

caches = [KVCache(1, 2, 4, capacity=1, dtype=torch.bfloat16) for layer in range(2)]
print(sum(cache.nbytes for cache in caches))
#> 64
