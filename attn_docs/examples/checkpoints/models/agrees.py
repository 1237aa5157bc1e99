# pip install transformers
import torch
import transformers

from attn_docs import KVConfig, KVLayers, kv_cache_bytes, load_models

transformers.logging.set_verbosity_error()
# two layers of Qwen3-Next's own class, one of each kind, with all that decides the cache
config = transformers.Qwen3NextConfig(
    num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], vocab_size=64,
    hidden_size=64, moe_intermediate_size=16, shared_expert_intermediate_size=16, num_experts=4,
    num_experts_per_tok=2, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
full, state = load_models()["Qwen3-Next-80B"].config.kinds

for length in (1, 10, 40):
    with torch.no_grad():
        cache = model(torch.ones(1, length, dtype=torch.int64)).past_key_values
    linear, attention = cache.layers
    held = [*linear.conv_states.values(), *linear.recurrent_states.values()]
    held += [attention.keys, attention.values]
    one = KVConfig(layers=[KVLayers(1, full.num_kv_heads, full.head_dim),
                           KVLayers(1, state_bytes=state.state_bytes)])
    print(length, sum(t.nbytes for t in held), kv_cache_bytes(one, length))
#> 1 2164736 2164736
#> 10 2183168 2183168
#> 40 2244608 2244608
for tensor in held:
    print(tuple(tensor.shape), tensor.dtype)
#> (1, 8192, 4) torch.bfloat16
#> (1, 32, 128, 128) torch.float32
#> (1, 2, 40, 256) torch.bfloat16
#> (1, 2, 40, 256) torch.bfloat16
