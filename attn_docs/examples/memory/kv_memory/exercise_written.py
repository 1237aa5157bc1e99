from attn_docs import kv_cache_bytes, load_models

CONFIGS = {  # from config.json of each
    "Llama-2-7B": {
        "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
        "num_attention_heads": 32},
    "Llama-3.1-8B": {
        "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
        "num_attention_heads": 32, "num_key_value_heads": 8},
    "Qwen3-32B": {
        "model_type": "qwen3", "num_hidden_layers": 64, "hidden_size": 5120,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128},
    "DeepSeek-V3": {
        "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
        "num_attention_heads": 128, "num_key_value_heads": 128,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64},
}  # fmt: skip


def bytes_per_token(config):
    if "kv_lora_rank" in config:  # latent: one vector and one rotary key, whatever the heads
        elements = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        heads = config["num_attention_heads"]
        if config["model_type"] == "llama":  # what this class fills in; others differ
            quotient = config["hidden_size"] // heads
            config = {"num_key_value_heads": heads, "head_dim": quotient} | config
        elements = 2 * config["num_key_value_heads"] * config["head_dim"]
    return config["num_hidden_layers"] * elements * 2


for name, config in CONFIGS.items():
    right = kv_cache_bytes(load_models()[name].config, length=1)
    print(name, "passed" if bytes_per_token(config) == right else "failed")
#> Llama-2-7B passed
#> Llama-3.1-8B passed
#> Qwen3-32B passed
#> DeepSeek-V3 passed
