from attn_docs import kv_cache_bytes, load_models

config = {  # of Qwen3-Next
    "num_key_value_heads": 2, "head_dim": 256,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12,
}  # fmt: skip


def cache_bytes(config, length, itemsize=2):
    layers = len(config["layer_types"])
    elements = 2 * config["num_key_value_heads"] * config["head_dim"]
    return layers * elements * length * itemsize


right = kv_cache_bytes(load_models()["Qwen3-Next-80B"].config, 131_072)
print(cache_bytes(config, 131_072) >> 20, right >> 20, "MiB")
#> 12288 3146 MiB
