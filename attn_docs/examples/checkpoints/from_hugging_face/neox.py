# pip install transformers
import torch
from transformers import GPTNeoXConfig
from transformers.models.gpt_neox.modeling_gpt_neox import (
    GPTNeoXAttention,
    GPTNeoXRotaryEmbedding,
)

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
sizes = {"hidden_size": 48, "num_attention_heads": 3, "num_hidden_layers": 1}
config = GPTNeoXConfig(**sizes, rope_parameters=rope, attn_implementation="sdpa")
theirs = GPTNeoXAttention(config, layer_idx=0)
for weight in theirs.parameters():
    torch.nn.init.normal_(weight, std=0.3)
x, positions = torch.randn(2, 60, 48), torch.arange(60)
cos_sin = GPTNeoXRotaryEmbedding(config)(x, positions[None])
right, _ = theirs(x, position_embeddings=cos_sin, attention_mask=None)

ours = MultiHeadAttention(48, 3, rotary=RotaryEmbedding(16, rotary_dim=4))
state = {f"out_proj.{kind}": tensor for kind, tensor in theirs.dense.state_dict().items()}
for kind, tensor in theirs.query_key_value.state_dict().items():
    heads = tensor.unflatten(0, (3, 3, 16))  # heads, then query, key and value, then head_dim
    for name, part in zip("qkv", heads.unbind(1), strict=True):
        state[f"{name}_proj.{kind}"] = part.flatten(0, 1)
ours.load_state_dict(state)
found = ours(x, is_causal=True)
print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
