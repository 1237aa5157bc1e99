import torch

from attn_docs.exhibits.heads import expanded_before_caching

torch.manual_seed(0)
cache = None
for _ in range(5):  # five tokens, one at a time
    query = torch.randn(1, 8, 1, 4)  # b h 1 d
    key, value = torch.randn(2, 1, 2, 1, 4)  # b g 1 d
    _, cache = expanded_before_caching.step(query, key, value, cache)
print(tuple(cache.shape), cache.nbytes, "bytes")  # 2 b … m d; two KV heads take 320 bytes
#> (2, 1, 8, 5, 4) 1280 bytes
