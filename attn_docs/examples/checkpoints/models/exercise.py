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
    count = len(config["layer_types"])
    return KVConfig(layers=[KVLayers(count, num_kv_heads=1, head_dim=1)])  # yours


for name, config in CONFIGS.items():
    right = load_models()[name].config
    same = [kv_cache_bytes(read(config), m) == kv_cache_bytes(right, m) for m in (1, 100, 10**6)]
    print(name, "passed" if all(same) else "failed")
#> SmolLM3-3B failed
#> gpt-oss-20b failed
#> Mistral-Small-4 failed
#> Qwen3.5-35B-A3B failed
