# pip install transformers
import torch
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
config = GPT2Config(n_embd=48, n_head=4, attn_implementation="sdpa")
theirs = GPT2Attention(config, layer_idx=0).eval()
torch.nn.init.normal_(theirs.c_attn.bias)  # zeros would hide a bias that is not copied

ours = MultiHeadAttention(48, 4).eval()
weights = {}
for kind in ("weight", "bias"):  # Conv1D stores (in, out), and one matrix for q, k and v
    q, k, v = theirs.state_dict()[f"c_attn.{kind}"].chunk(3, dim=-1)
    out = theirs.state_dict()[f"c_proj.{kind}"]
    for name, value in {"q_proj": q, "k_proj": k, "v_proj": v, "out_proj": out}.items():
        weights[f"{name}.{kind}"] = value.mT if kind == "weight" else value
print(ours.load_state_dict(weights))
#> <All keys matched successfully>

x = torch.randn(2, 10, 48)
print(torch.allclose(ours(x, is_causal=True), theirs(x)[0], atol=1e-6))
#> True
