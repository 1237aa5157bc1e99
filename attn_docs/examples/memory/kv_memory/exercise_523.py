from attn_docs import KVConfig, kv_cache_bytes, load_models

models = load_models()
seventy = models["Llama-2-70B"].config
multi_head = KVConfig(full_layers=80, num_kv_heads=64, head_dim=128)

print([kv_cache_bytes(config, 1) / 1024 for config in (multi_head, seventy)], "KiB a token")
#> [2560.0, 320.0] KiB a token
print(round(kv_cache_bytes(seventy, 128) / 2**20), "MiB for 128 tokens, with groups")
#> 40 MiB for 128 tokens, with groups
print(round(kv_cache_bytes(multi_head, 128) / 2**20), "MiB, without")
#> 320 MiB, without

seven = kv_cache_bytes(models["Llama-2-7B"].config, 1)
print(seven, seven // 8, "bytes a token;", 128 * seven, "for 128")
#> 524288 65536 bytes a token; 67108864 for 128
