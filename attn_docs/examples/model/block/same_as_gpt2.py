# pip install transformers
import torch
from torch import nn
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

D = 48
config = GPT2Config(n_embd=D, n_head=4, attn_implementation="sdpa")
theirs = GPT2Block(config, layer_idx=0).eval()  # causal by itself, with "sdpa"
for parameter in theirs.parameters():
    nn.init.normal_(parameter, std=0.2)

mlp = MLP(D, approximate="tanh")
ours = Block(MultiHeadAttention(D, 4), mlp, theirs.ln_1, theirs.ln_2)
linears = [layer for layer in ours.modules() if isinstance(layer, nn.Linear)]  # q k v out up down
sources = theirs.attn.c_proj, theirs.mlp.c_fc, theirs.mlp.c_proj
for part in ("weight", "bias"):
    thirds = getattr(theirs.attn.c_attn, part).split(D, dim=-1)  # queries, keys, values
    rest = (getattr(layer, part) for layer in sources)
    for linear, numbers in zip(linears, (*thirds, *rest), strict=True):
        # GPT-2 stores (in, out), the transpose of a linear layer
        setattr(linear, part, nn.Parameter(numbers.T if part == "weight" else numbers))

x = torch.randn(2, 7, D)
wanted = theirs(x)
error = (ours(x, is_causal=True) - wanted).abs().max()
print(bool(error <= 2e-6 * wanted.abs().max()))
#> True
