# pip install transformers
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attn_docs import GroupedQueryAttention, Llama3Scaling, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0}
rope |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
sizes |= {"max_position_embeddings": 131072}
config = LlamaConfig(**sizes, rope_parameters=rope, attn_implementation="sdpa")
theirs = LlamaAttention(config, layer_idx=0)
for weight in theirs.parameters():
    torch.nn.init.normal_(weight, std=0.3)
x, positions = torch.randn(2, 60, 42), 500 * torch.arange(60)
cos_sin = LlamaRotaryEmbedding(config)(x, positions[None])
right, _ = theirs(x, cos_sin, attention_mask=None)  # sdpa without a mask is causal

rule = Llama3Scaling(8.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
rotary = RotaryEmbedding(8, theta=500000.0, scaling=rule)
ours = GroupedQueryAttention(42, 6, 2, head_dim=8, bias=False, rotary=rotary)
state = {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
ours.load_state_dict(state)
found = ours(x, is_causal=True, positions=positions)
print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
