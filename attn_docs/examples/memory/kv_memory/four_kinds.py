from attn_docs import KVConfig, kv_cache_bytes

sizes = {"num_kv_heads": 2, "head_dim": 4}
kinds = {
    "full": KVConfig(full_layers=6, **sizes),
    "window of 3": KVConfig(full_layers=1, windowed_layers=5, window=3, **sizes),
    "shared": KVConfig(full_layers=6, shared_full_layers=4, **sizes),
    "latent": KVConfig(latent_layers=6, kv_rank=4, rope_dim=2),
}
for name, config in kinds.items():
    print(f"{name:11}", *(f"{kv_cache_bytes(config, length):5}" for length in (1, 3, 10)))
#> full          192   576  1920
#> window of 3   192   576   800
#> shared         64   192   640
#> latent         72   216   720
