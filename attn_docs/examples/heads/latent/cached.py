import torch

from attn_docs import KVCache, MultiHeadLatentAttention

torch.manual_seed(0)
attend = MultiHeadLatentAttention(512, 16, kv_rank=64, head_dim=32, rope_dim=16, value_dim=32)
x, cache = torch.randn(1, 20, 512), attend.new_cache(batch=1, capacity=20)
with torch.no_grad():
    prefill = attend(x[:, :19], cache=cache)
    decode = attend(x[:, 19:], cache=cache)
    whole = attend(x, is_causal=True)
print(torch.allclose(torch.cat((prefill, decode), dim=1), whole, atol=1e-6))
#> True
print(tuple(cache.entries.shape), cache.nbytes, "bytes")
#> (1, 1, 20, 80) 6400 bytes
print(KVCache(batch=1, num_kv_heads=16, head_dim=32, capacity=20).nbytes, "bytes in multi-head")
#> 81920 bytes in multi-head
