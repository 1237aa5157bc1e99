from attn_docs import KVConfig, kv_cache_bytes, load_models

for name in ("Gemma-3-27B", "gpt-oss-120b", "Olmo-3-7B", "Mistral-7B v0.1"):
    config = load_models()[name].config
    heads = {"num_kv_heads": config.num_kv_heads, "head_dim": config.head_dim}
    everything = KVConfig(full_layers=config.num_layers, **heads)
    print(f"{name:16} {config.windowed_layers} local, {config.full_layers} global", end=":")
    for length in (1024, 32768, 131072):
        some, whole = (kv_cache_bytes(c, length) / 2**30 for c in (config, everything))
        print(f"  {some:.2f} of {whole:.2f} GiB", end="")
    print()
