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
#> Gemma-3-27B      52 local, 10 global:  0.48 of 0.48 GiB  2.91 of 15.50 GiB  10.41 of 62.00 GiB
#> gpt-oss-120b     18 local, 18 global:  0.04 of 0.07 GiB  1.13 of 2.25 GiB  4.50 of 9.00 GiB
#> Olmo-3-7B        24 local, 8 global:  0.50 of 0.50 GiB  5.50 of 16.00 GiB  17.50 of 64.00 GiB
#> Mistral-7B v0.1  32 local, 0 global:  0.12 of 0.12 GiB  0.50 of 4.00 GiB  0.50 of 16.00 GiB
