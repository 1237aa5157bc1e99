from attn_docs import kv_cache_bytes, load_models

config = {  # of Qwen3-32B
    "num_hidden_layers": 64,
    "hidden_size": 5120,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
}


def bytes_per_token(config, itemsize=2):
    size = config["hidden_size"] // config["num_attention_heads"]
    return 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * size * itemsize


print(bytes_per_token(config), kv_cache_bytes(load_models()["Qwen3-32B"].config, length=1))
#> 163840 262144
