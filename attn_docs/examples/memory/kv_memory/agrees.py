import torch

from attn_docs import KVCache, LatentCache, kv_cache_bytes, load_models

LENGTH, BATCH = 5000, 3
room = {"dtype": torch.bfloat16, "device": "meta"}  # shapes only, no memory


def made(config):
    """Make the cache of every layer that has one; add up what they take."""
    full = config.full_layers - config.shared_full_layers
    windowed = config.windowed_layers - config.shared_windowed_layers
    heads, size, window = config.num_kv_heads, config.head_dim, config.window
    small = config.windowed_head_dim or size
    caches = [KVCache(BATCH, heads, size, LENGTH, **room) for _ in range(full)]
    caches += [
        KVCache(BATCH, heads, small, LENGTH, window=window, **room) for _ in range(windowed)
    ]
    caches += [
        LatentCache(BATCH, config.kv_rank, config.rope_dim, LENGTH, **room)
        for _ in range(config.latent_layers)
    ]
    return sum(cache.nbytes for cache in caches)


configs = [model.config for model in load_models().values()]
configs = [config for config in configs if not config.layers]  # the formula's kinds alone
same = [made(config) == kv_cache_bytes(config, LENGTH, BATCH) for config in configs]
print(f"{sum(same)} of {len(configs)} models agree to the byte")
#> 63 of 63 models agree to the byte
