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
    return 0  # yours, in bfloat16


for name, config in CONFIGS.items():
    right = kv_cache_bytes(load_models()[name].config, length=1)
    print(name, "passed" if bytes_per_token(config) == right else "failed")
#> Llama-2-7B failed
#> Llama-3.1-8B failed
#> Qwen3-32B failed
#> DeepSeek-V3 failed
