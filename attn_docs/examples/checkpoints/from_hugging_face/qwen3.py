# pip install transformers
import torch
from torch import nn
from transformers import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
rope = {"rope_type": "default", "rope_theta": 1000000.0}
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
config = Qwen3Config(**sizes, rope_parameters=rope, attn_implementation="sdpa")
theirs = Qwen3Attention(config, layer_idx=0)
for weight in theirs.parameters():
    nn.init.normal_(weight, std=0.5)  # the norms' too: in a new layer they are 1
x, positions = torch.randn(2, 60, 42), 500 * torch.arange(60)
cos_sin = Qwen3RotaryEmbedding(config)(x, positions[None])

norms = {name: nn.RMSNorm(8, eps=config.rms_norm_eps) for name in ("q_norm", "k_norm")}
rotary = RotaryEmbedding(8, theta=1000000.0)
ours = GroupedQueryAttention(42, 6, 2, head_dim=8, bias=False, rotary=rotary, **norms)
state = {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
print(ours.load_state_dict(state))
#> <All keys matched successfully>
for size in (1, 0.01):  # only small inputs show a wrong eps
    right, _ = theirs(size * x, cos_sin, attention_mask=None)  # sdpa without a mask is causal
    found = ours(size * x, is_causal=True, positions=positions)
    print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
#> True
