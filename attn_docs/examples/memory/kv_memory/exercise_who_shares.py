from attn_docs import KVConfig, kv_cache_bytes, load_models

for name in ("Llama-2-7B", "Llama-2-13B", "Llama-2-70B", "Llama-3-8B", "Llama-3.1-405B"):
    model = load_models()[name]
    print(f"{name}: {model.num_heads} query heads, {model.config.num_kv_heads} key heads")
#> Llama-2-7B: 32 query heads, 32 key heads
#> Llama-2-13B: 40 query heads, 40 key heads
#> Llama-2-70B: 64 query heads, 8 key heads
#> Llama-3-8B: 32 query heads, 8 key heads
#> Llama-3.1-405B: 128 query heads, 8 key heads

original = KVConfig(full_layers=1, num_kv_heads=8, head_dim=64)
larger = KVConfig(full_layers=1, num_kv_heads=64, head_dim=128)
print([kv_cache_bytes(config, 1) // 1024 for config in (original, larger)], "KiB, one layer")
#> [2, 32] KiB, one layer
