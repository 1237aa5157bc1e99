from attn_docs import KVConfig, KVLayers, kv_cache_bytes, load_models

CONFIGS = {
    "SmolLM3-3B": {
        "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_size": 2048,
        "layer_types": ["full_attention"] * 36,
    },
    "gpt-oss-20b": {
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "hidden_size": 2880,
        "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12,
    },
    "Mistral-Small-4": {
        "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_size": 4096,
        "kv_lora_rank": 256, "qk_rope_head_dim": 64, "layer_types": ["full_attention"] * 36,
    },
    "Qwen3.5-35B-A3B": {
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "hidden_size": 2048,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_num_key_heads": 16, "linear_conv_kernel_dim": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 10,
    },
}  # fmt: skip


def read(config):
    heads, kinds = config["num_attention_heads"], config["layer_types"]
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    sizes = {"num_kv_heads": config["num_key_value_heads"], "head_dim": head_dim}
    if "kv_lora_rank" in config:  # whatever num_key_value_heads says
        latent = config["kv_lora_rank"] + config["qk_rope_head_dim"]
        sizes = {"num_kv_heads": 1, "head_dim": latent, "value_dim": 0}
    found = []
    for kind in set(kinds):
        count = kinds.count(kind)
        if kind == "linear_attention":
            values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
            keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
            state = 4 * values * config["linear_key_head_dim"]  # float32
            inputs = 2 * (2 * keys + values) * config["linear_conv_kernel_dim"]  # bfloat16
            found.append(KVLayers(count, state_bytes=state + inputs))
        else:
            window = config["sliding_window"] if kind == "sliding_attention" else None
            found.append(KVLayers(count, **sizes, window=window))
    return KVConfig(layers=found)


for name, config in CONFIGS.items():
    right = load_models()[name].config
    same = [kv_cache_bytes(read(config), m) == kv_cache_bytes(right, m) for m in (1, 100, 10**6)]
    print(name, "passed" if all(same) else "failed")
#> SmolLM3-3B passed
#> gpt-oss-20b passed
#> Mistral-Small-4 passed
#> Qwen3.5-35B-A3B passed
