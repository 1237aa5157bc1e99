# pip install transformers
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attn_docs import GroupedQueryAttention, Llama3Scaling, RotaryEmbedding

torch.manual_seed(0)
rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0}  # of config.json
rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
rope |= {"original_max_position_embeddings": 8192}
sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_key_value_heads": 1}
sizes |= {"head_dim": 128, "max_position_embeddings": 131072}
config = LlamaConfig(**sizes, rope_parameters=rope, attn_implementation="sdpa")
theirs = LlamaAttention(config, layer_idx=0).requires_grad_(False)
weights = {name: 10 * weight for name, weight in theirs.state_dict().items()}
theirs.load_state_dict(weights)  # random, but with scores that matter


def ours(scaling):
    rotary = RotaryEmbedding(128, theta=500000.0, scaling=scaling)
    layer = GroupedQueryAttention(256, 2, 1, head_dim=128, bias=False, rotary=rotary)
    layer.load_state_dict({k.replace("o_proj", "out_proj"): w for k, w in weights.items()})
    return layer.requires_grad_(False)


x = torch.randn(1, 64, 256)  # 64 tokens, further and further apart
for step in (1, 10, 100, 1000):
    positions = step * torch.arange(64)
    cos_sin = LlamaRotaryEmbedding(config)(x, positions[None])
    right, _ = theirs(x, position_embeddings=cos_sin, attention_mask=None)
    errors = []
    for rule in (None, Llama3Scaling(factor=8.0, original_length=8192)):
        found = ours(rule)(x, positions=positions, is_causal=True)
        errors.append(((found - right).norm() / right.norm()).item())
    print(f"to position {63 * step}: without {errors[0]:.2f}, with {errors[1]:.2f}")
#> to position 63: without 0.03, with 0.00
#> to position 630: without 0.21, with 0.00
#> to position 6300: without 0.80, with 0.00
#> to position 63000: without 1.05, with 0.00
