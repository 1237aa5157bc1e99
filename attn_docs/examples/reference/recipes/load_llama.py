# pip install transformers
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attn_docs import GroupedQueryAttention, RotaryEmbedding, from_transformers

torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2}
config = LlamaConfig(**sizes, attn_implementation="sdpa")
theirs = LlamaAttention(config, layer_idx=0).eval()  # yours: model.model.layers[0].self_attn

rope = config.rope_parameters
assert rope["rope_type"] == "default", "rescaled: pass scaling="
rotary = RotaryEmbedding(theirs.head_dim, theta=rope["rope_theta"])
options = {"head_dim": theirs.head_dim, "bias": False, "rotary": rotary}
ours = GroupedQueryAttention(*sizes.values(), **options).eval()
weights = {k.replace("o_proj", "out_proj"): v for k, v in theirs.state_dict().items()}
print(ours.load_state_dict(weights))
#> <All keys matched successfully>

x = torch.randn(2, 10, 64)
cos_sin = LlamaRotaryEmbedding(config)(x, torch.arange(10)[None])
expected, _ = theirs(x, position_embeddings=cos_sin, attention_mask=None)
for layer in (ours, from_transformers(theirs)):  # by hand, and in one call
    print(torch.allclose(layer(x, is_causal=True), expected, atol=1e-6))
#> True
#> True
