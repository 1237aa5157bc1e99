import torch

from attn_docs import KVCache, LatentCache, MultiHeadLatentAttention

torch.manual_seed(0)
attend = MultiHeadLatentAttention(
    embed_dim=512, num_heads=16, kv_rank=64, head_dim=32, rope_dim=16, value_dim=32
)
x = torch.randn(1, 20, 512)
cache = LatentCache(batch=1, kv_rank=64, rope_dim=16, capacity=20)

read = attend(x[:, :19], is_causal=True, cache=cache)  # a text, at once
step = attend(x[:, 19:], is_causal=True, cache=cache)  # and one word more
whole = attend(x, is_causal=True)
print(torch.allclose(torch.cat((read, step), dim=1), whole, atol=1e-6))
#> True
print(tuple(cache.entries.shape), cache.nbytes)
#> (1, 1, 20, 80) 6400
print(KVCache(batch=1, num_kv_heads=16, head_dim=32, capacity=20).nbytes)
#> 81920
