# pip install transformers
import torch
from torch import nn
from transformers import Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
config = Qwen3NextConfig(**sizes, attn_implementation="sdpa")
theirs = Qwen3NextAttention(config, layer_idx=3).requires_grad_(False)
for weight in theirs.parameters():
    nn.init.normal_(weight, std=0.3)

norms = {"q_norm": nn.RMSNorm(16, eps=1e-6), "k_norm": nn.RMSNorm(16, eps=1e-6)}
gate = nn.Linear(64, 4 * 16, bias=False)  # a factor for each element; 4 outputs: for each head
ours = GroupedQueryAttention(
    64, 4, 2, head_dim=16, bias=False, rotary=RotaryEmbedding(16), gate=gate, **norms
).requires_grad_(False)

state = dict(theirs.state_dict())
queries, gates = state.pop("q_proj.weight").view(4, 2, 16, 64).unbind(1)  # head by head
state |= {"q_proj.weight": queries.flatten(0, 1), "gate.weight": gates.flatten(0, 1)}
state["out_proj.weight"] = state.pop("o_proj.weight")
state |= {f"{name}.weight": 1 + state[f"{name}.weight"] for name in norms}  # they hold gain − 1
ours.load_state_dict(state)

x, n = torch.randn(1, 9, 64), 9
angles = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, 16, 2) / 16)  # n d/2
angles = torch.cat([angles, angles], dim=-1)[None]  # 1 n d
right, _ = theirs(x, (angles.cos(), angles.sin()), attention_mask=None)
print(torch.allclose(ours(x, is_causal=True), right, atol=1e-4))
#> True

nn.init.zeros_(gate.weight)  # sigmoid(0) is ½
halved = ours(x, is_causal=True)
ours.gate = None
print(torch.allclose(halved, ours(x, is_causal=True) / 2, atol=1e-4))
#> True
