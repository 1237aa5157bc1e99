# pip install transformers
import torch
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from attn_docs import MultiHeadAttention, RelativeBias

torch.manual_seed(0)
torch.set_grad_enabled(False)
config = T5Config(d_model=24, num_heads=4, d_kv=5, attn_implementation="sdpa")
theirs = T5Attention(config, has_relative_attention_bias=True).eval()
state = theirs.state_dict()

bias = RelativeBias(num_heads=4, bidirectional=True)
bias.load_state_dict({k: v for k, v in state.items() if k.startswith("relative")})
layer = MultiHeadAttention(24, 4, head_dim=5, bias=False, scale=1.0)  # T5 does not scale scores
names = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}
layer.load_state_dict({f"{ours}.weight": state[f"{name}.weight"] for name, ours in names.items()})

x = torch.randn(2, 300, 24)  # b n 24
print(torch.allclose(layer(x, attn_mask=bias(300)), theirs(x)[0], atol=1e-5))
#> True
