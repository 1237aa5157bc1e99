MODELS = {  # for each kind of layer: how many, KV heads g, size of a key d, of a value e, and more
    "Llama-3.1-8B": [(32, 8, 128, 128, {})],
    "gpt-oss-20b": [(12, 8, 64, 64, {}), (12, 8, 64, 64, {"W": 128})],  # W: window
    "DeepSeek-V3.2": [(61, 1, 576, 0, {"x": 128})],  # latent 512 + 64; x: key of the indexer
    "Qwen3-Next-80B": [(12, 2, 256, 256, {}), (36, 0, 0, 0, {"f": 2_162_688})],  # f: a state
}


def cache_bytes(layers, m, b=1, s=2):
    total = 0
    for count, g, d, e, more in layers:
        elements = g * (d + e) * min(m, more.get("W", m)) + more.get("x", 0) * m
        elements += more.get("c", 0) * (m // more.get("r", 1))
        total += count * (s * elements + more.get("f", 0))
    return b * total


for name, layers in MODELS.items():
    kib = [cache_bytes(layers, m) / m / 1024 for m in (1024, 32_768, 131_072)]
    print(f"{name:14}", *(f"{value:6.1f}" for value in kib))
#> Llama-3.1-8B    128.0  128.0  128.0
#> gpt-oss-20b      27.0   24.1   24.0
#> DeepSeek-V3.2    83.9   83.9   83.9
#> Qwen3-Next-80B   98.2   26.3   24.6

from attn_docs import kv_cache_bytes, load_models

right = {name: kv_cache_bytes(load_models()[name].config, 5000) for name in MODELS}
print(all(cache_bytes(layers, 5000) == right[name] for name, layers in MODELS.items()))
#> True
