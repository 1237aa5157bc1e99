# pip install transformers
from transformers import DeepseekV3Config, Gemma2Config, LlamaConfig, MistralConfig, Qwen2Config

from attn_docs import KVConfig, kv_cache_bytes


def kv_config(config):  # of text: AutoConfig.from_pretrained(name).get_text_config()
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    if rank := getattr(config, "kv_lora_rank", None):  # one vector, and a rotary key beside it
        return KVConfig(latent_layers=layers, kv_rank=rank, rope_dim=config.qk_rope_head_dim)
    window = getattr(config, "sliding_window", None) or 0
    usual = "sliding_attention" if window else "full_attention"
    kinds = getattr(config, "layer_types", None) or [usual] * layers
    full, windowed = (kinds.count(kind) for kind in ("full_attention", "sliding_attention"))
    if full + windowed < layers or getattr(config, "num_kv_shared_layers", 0):
        raise ValueError(f"layers that are not counted here: {kinds}")
    sizes = {"num_kv_heads": getattr(config, "num_key_value_heads", None) or heads}
    sizes["head_dim"] = getattr(config, "head_dim", None) or config.hidden_size // heads
    return KVConfig(full_layers=full, windowed_layers=windowed, window=window, **sizes)


for family in (LlamaConfig, Qwen2Config, Gemma2Config, MistralConfig, DeepseekV3Config):
    count = kv_cache_bytes(kv_config(family()), length=131_072)  # of its default sizes
    print(f"{family.__name__}: {count / 2**30:.2f} GiB in bfloat16")
#> LlamaConfig: 64.00 GiB in bfloat16
#> Qwen2Config: 64.00 GiB in bfloat16
#> Gemma2Config: 6.70 GiB in bfloat16
#> MistralConfig: 0.50 GiB in bfloat16
#> DeepseekV3Config: 8.58 GiB in bfloat16
