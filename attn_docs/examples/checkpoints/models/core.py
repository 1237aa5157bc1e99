from math import inf


def layer(tokens, kv_heads=0, key_size=0, value_size=0, window=inf, index_size=0, state_bytes=0,
          entry_size=0, per_entry=1):  # fmt: skip
    elements = kv_heads * (key_size + value_size) * min(tokens, window)
    elements += index_size * tokens + entry_size * (tokens // per_entry)
    return 2 * elements + state_bytes  # an element of bfloat16 takes 2 bytes


MODELS = {  # the cache of all layers, in bytes, after m tokens
    "Llama-3.1-8B": lambda m: 32 * layer(m, kv_heads=8, key_size=128, value_size=128),
    "gpt-oss-20b": lambda m: 12 * layer(m, kv_heads=8, key_size=64, value_size=64)
    + 12 * layer(m, kv_heads=8, key_size=64, value_size=64, window=128),
    "DeepSeek-V3.2": lambda m: 61 * layer(m, kv_heads=1, key_size=512 + 64, index_size=128),
    "Qwen3-Next-80B": lambda m: 12 * layer(m, kv_heads=2, key_size=256, value_size=256)
    + 36 * layer(m, state_bytes=4 * 32 * 128 * 128 + 2 * 4 * 8192),
    "DeepSeek-V4-Flash": lambda m: 2 * layer(m, kv_heads=1, key_size=512, window=128)
    + 21 * layer(m, kv_heads=1, key_size=512, window=128, entry_size=512 + 128, per_entry=4)
    + 20 * layer(m, kv_heads=1, key_size=512, window=128, entry_size=512, per_entry=128),
}  # fmt: skip
for name, cache_bytes in MODELS.items():
    kib = [cache_bytes(m) / m / 1024 for m in (1024, 32_768, 131_072)]
    print(f"{name:17}", *(f"{value:6.1f}" for value in kib))
#> Llama-3.1-8B       128.0  128.0  128.0
#> gpt-oss-20b         27.0   24.1   24.0
#> DeepSeek-V3.2       83.9   83.9   83.9
#> Qwen3-Next-80B      98.2   26.3   24.6
#> DeepSeek-V4-Flash   12.1    6.9    6.8

from attn_docs import kv_cache_bytes, load_models

right = {name: kv_cache_bytes(load_models()[name].config, 5000) for name in MODELS}
print(all(cache_bytes(5000) == right[name] for name, cache_bytes in MODELS.items()))
#> True
