import torch

from attn_docs import KVCache

layers, kv_heads, head_dim, length, bytes_each = 32, 8, 128, 4096, 2
by_hand = 2 * kv_heads * length * head_dim * bytes_each  # 2: keys and values
with torch.device("meta"):  # shapes without memory
    sizes = {"num_kv_heads": kv_heads, "head_dim": head_dim, "capacity": 32768}
    cache = KVCache(batch=1, dtype=torch.bfloat16, window=4096, **sizes)
    whole = KVCache(batch=1, dtype=torch.bfloat16, **sizes)
print(by_hand == cache.nbytes)
#> True
print(layers * cache.nbytes // 2**20, "MiB with the window")
#> 512 MiB with the window
print(layers * whole.nbytes // 2**20, "MiB without")
#> 4096 MiB without
