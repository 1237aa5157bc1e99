from attn_docs import kv_cache_bytes, load_models

config = {  # of Gemma 4 31B
    "sliding_layers": 50, "num_key_value_heads": 16, "head_dim": 256, "sliding_window": 1024,
    "full_layers": 10, "num_global_key_value_heads": 4, "global_head_dim": 512,
    "attention_k_eq_v": True,  # of the full layers: k_proj's output is also the value
}  # fmt: skip


def cache_bytes(config, length, itemsize=2):
    arrays = 1 if config["attention_k_eq_v"] else 2
    full = arrays * config["num_global_key_value_heads"] * config["global_head_dim"]
    window = 2 * config["num_key_value_heads"] * config["head_dim"]
    seen = min(length, config["sliding_window"])
    elements = config["full_layers"] * full * length + config["sliding_layers"] * window * seen
    return elements * itemsize


right = kv_cache_bytes(load_models()["Gemma-4-31B"].config, 131_072)
print(cache_bytes(config, 131_072), right)
#> 6207569920 11576279040
