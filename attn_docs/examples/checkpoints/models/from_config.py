# pip install transformers
import transformers

from attn_docs import KVConfig, KVLayers, kv_cache_bytes


def layers_of(config):
    """Read what each layer caches from a configuration of transformers."""
    if config.model_type not in {"llama", "gpt_oss", "glm_moe_dsa", "qwen3_next"}:
        raise ValueError(f"model_type must be one of these four; got {config.model_type!r}")
    heads = config.num_attention_heads
    groups = getattr(config, "num_key_value_heads", None) or heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    if rank := getattr(config, "kv_lora_rank", None):  # one vector for all heads
        groups, head_dim, values = 1, rank + config.qk_rope_head_dim, 0
    else:
        values = getattr(config, "v_head_dim", None)
    index = config.index_head_dim if getattr(config, "index_topk", None) else 0
    attends = {"num_kv_heads": groups, "head_dim": head_dim, "value_dim": values}
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    found = []
    for kind in dict.fromkeys(kinds):
        count = kinds.count(kind)
        if kind == "linear_attention":  # a matrix per head in float32, and a convolution's inputs
            keys = config.linear_num_key_heads * config.linear_key_head_dim
            values = config.linear_num_value_heads * config.linear_value_head_dim
            state = 4 * values * config.linear_key_head_dim
            inputs = 2 * (2 * keys + values) * config.linear_conv_kernel_dim
            found.append(KVLayers(count, state_bytes=state + inputs))
        elif kind == "sliding_attention":
            found.append(KVLayers(count, **attends, window=config.sliding_window))
        else:
            found.append(KVLayers(count, **attends, index_dim=index))
    return KVConfig(layers=found)


files = {  # what config.json says; here, of Llama-3.1-8B and gpt-oss-20b, only where classes differ
    "Llama": {"num_key_value_heads": 8},
    "GptOss": {"num_hidden_layers": 24},
    "GlmMoeDsa": {},
    "Qwen3Next": {},
}
for name, fields in files.items():
    config = getattr(transformers, f"{name}Config")(**fields)
    taken = [kv_cache_bytes(layers_of(config), m) / m / 1024 for m in (1024, 32_768, 131_072)]
    print(f"{name:9}", *(f"{kib:6.1f}" for kib in taken))
#> Llama      128.0  128.0  128.0
#> GptOss      27.0   24.1   24.0
#> GlmMoeDsa  107.2  107.2  107.2
#> Qwen3Next   98.2   26.3   24.6
try:
    layers_of(transformers.MistralConfig())  # a window, and no layer_types
except ValueError as error:
    print(error)
#> model_type must be one of these four; got 'mistral'
