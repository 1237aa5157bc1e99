# pip install transformers
from transformers import AutoConfig

from attn_docs import KVConfig, kv_cache_bytes

COUNTED = """cohere2 deepseek_v2 deepseek_v3 gemma gemma2 gemma3_text glm4 gpt2 gpt_neox gpt_oss
llama mistral mixtral olmo2 olmo3 phi3 qwen2 qwen2_moe qwen3 qwen3_moe smollm3""".split()


def kv_config(config):  # of text: AutoConfig.from_pretrained(name).get_text_config()
    if config.model_type not in COUNTED:
        raise ValueError(f"{config.model_type} is not counted here")
    window = getattr(config, "sliding_window", None) or 0
    usual = "sliding_attention" if window else "full_attention"
    kinds = getattr(config, "layer_types", None) or [usual] * config.num_hidden_layers
    full, windowed = (kinds.count(kind) for kind in ("full_attention", "sliding_attention"))
    if rank := getattr(config, "kv_lora_rank", None):  # one vector, and a rotary key beside it
        return KVConfig(latent_layers=full, kv_rank=rank, rope_dim=config.qk_rope_head_dim)
    groups = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return KVConfig(full, windowed, window=window, num_kv_heads=groups, head_dim=size)


for name in ("llama", "qwen2", "gemma2", "mistral", "deepseek_v3"):  # their default sizes
    size = kv_cache_bytes(kv_config(AutoConfig.for_model(name)), length=131_072)
    print(f"{name}: {size / 2**30:.2f} GiB in bfloat16")
#> llama: 64.00 GiB in bfloat16
#> qwen2: 64.00 GiB in bfloat16
#> gemma2: 6.70 GiB in bfloat16
#> mistral: 0.50 GiB in bfloat16
#> deepseek_v3: 8.58 GiB in bfloat16
