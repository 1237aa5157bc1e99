import torch

from attn_docs import KVCache, MultiHeadAttention

attend, x = MultiHeadAttention(12, 3), torch.randn(2, 3, 12)
cache = KVCache(batch=2, num_kv_heads=3, head_dim=4, capacity=4)
attend(x, is_causal=True, cache=cache)
before = cache.key.clone()
calls = {
    "no room": lambda: attend(x, is_causal=True, cache=cache),
    "other batch": lambda: attend(x[:1], is_causal=True, cache=cache),
    "other dtype": lambda: attend.double()(x[:, :1].double(), cache=cache),
}
for name, call in calls.items():
    try:
        call()
    except (TypeError, ValueError) as error:
        print(f"{name}: {error}")
#> no room: the cache must have room for 6 positions, 3 seen and 3 new; got capacity 4
#> other batch: x must have the cache's batch 2; got 1
#> other dtype: cache must have x's dtype torch.float64; got torch.float32
print(cache.length, torch.equal(cache.key, before))
#> 3 True
