import torch

from attn_docs import LatentCache, MultiHeadLatentAttention

sizes = {"kv_rank": 8, "head_dim": 6, "value_dim": 5}
attend = MultiHeadLatentAttention(24, 3, rope_dim=4, **sizes)
cache = LatentCache(batch=2, kv_rank=8, rope_dim=4, capacity=6)
attend(torch.randn(2, 4, 24), is_causal=True, cache=cache)
calls = {
    "odd": lambda: MultiHeadLatentAttention(24, 3, rope_dim=5, **sizes),
    "full": lambda: attend(torch.randn(2, 3, 24), cache=cache),
    "batch": lambda: attend(torch.randn(1, 1, 24), cache=cache),
    "other cache": lambda: attend(torch.randn(2, 1, 24), cache=LatentCache(2, 8, 2, 6)),
}
for name, call in calls.items():
    try:
        call()
    except ValueError as error:
        print(f"{name}: {error}")
#> odd: rope_dim must be even; got 5
#> full: the cache must have room for 7 positions, 4 seen and 3 new; got capacity 6
#> batch: x must have the cache's batch 2; got 1
#> other cache: cache must have kv_rank + rope_dim 12, as the module; got 10
print("seen:", cache.length)
#> seen: 4
