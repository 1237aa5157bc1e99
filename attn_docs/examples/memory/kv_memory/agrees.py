import torch

from attn_docs import KVCache, LatentCache, kv_cache_bytes, load_models

LENGTH, BATCH = 5000, 3
room = {"dtype": torch.bfloat16, "device": "meta"}  # shapes only, no memory
models = load_models()


def made(config):
    """Make every layer's cache and add up what they take."""
    caches = []
    for _ in range(config.full_layers - config.shared_full_layers):
        caches.append(KVCache(BATCH, config.num_kv_heads, config.head_dim, LENGTH, **room))
    for _ in range(config.windowed_layers - config.shared_windowed_layers):
        size = config.windowed_head_dim or config.head_dim
        window = {"window": config.window}
        caches.append(KVCache(BATCH, config.num_kv_heads, size, LENGTH, **window, **room))
    for _ in range(config.latent_layers):
        caches.append(LatentCache(BATCH, config.kv_rank, config.rope_dim, LENGTH, **room))
    return sum(cache.nbytes for cache in caches)


configs = [model.config for model in models.values()]
same = [made(config) == kv_cache_bytes(config, LENGTH, BATCH) for config in configs]
print(f"{sum(same)} of {len(models)} models agree to the byte")
#> 44 of 44 models agree to the byte
