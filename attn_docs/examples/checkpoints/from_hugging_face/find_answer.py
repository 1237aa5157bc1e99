# pip install transformers
import torch
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
torch.set_grad_enabled(False)
config = GPT2Config(n_embd=48, n_head=6, attn_implementation="sdpa")
theirs = GPT2Attention(config, layer_idx=0).eval()
for weight in theirs.parameters():
    torch.nn.init.normal_(weight, std=0.3)
x = torch.randn(2, 60, 48)
right, _ = theirs(x)

ours = MultiHeadAttention(48, 6)
weights = theirs.c_attn.weight.T.chunk(3)  # queries, keys and values side by side
biases = theirs.c_attn.bias.chunk(3)
state = {"out_proj.weight": theirs.c_proj.weight.T, "out_proj.bias": theirs.c_proj.bias}
for name, weight, bias in zip("qkv", weights, biases, strict=True):
    state |= {f"{name}_proj.weight": weight, f"{name}_proj.bias": bias}
print(ours.load_state_dict(state))
#> <All keys matched successfully>
found = ours(x, is_causal=True)
print(f"off by {((found - right).norm() / right.norm()).item():.2f}")
#> off by 0.00
