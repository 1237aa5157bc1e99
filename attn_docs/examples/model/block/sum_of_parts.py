import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel

torch.manual_seed(0)
D = 64
blocks = [
    Block(MultiHeadAttention(D, 4), MLP(D), nn.LayerNorm(D), nn.LayerNorm(D)) for _ in range(6)
]
model = DecoderModel(100, D, blocks, max_length=16, norm=nn.LayerNorm(D)).requires_grad_(False)

added = []  # what each part writes, b n D
for block in model.blocks:
    for part in (block.attention, block.mlp):
        part.register_forward_hook(lambda *call: added.append(call[-1]))
last = []  # what the last norm reads, b n D
model.norm.register_forward_pre_hook(lambda *call: last.append(call[-1][0]))

tokens = torch.randint(100, (1, 16))
model(tokens)
start = model.token_embedding(tokens) + model.position_embedding(torch.arange(16))
print(len(added), torch.allclose(start + sum(added), last[0], atol=1e-5))
#> 12 True

norms = [part.norm(dim=-1).mean().item() for part in (start, *added, last[0])]
print(f"embedding and position {norms[0]:.1f}, sum of all {norms[-1]:.1f}")
#> embedding and position 11.5, sum of all 13.0
print("attention", *(f"{norm:.1f}" for norm in norms[1:-1:2]))
#> attention 1.4 1.4 1.5 1.7 1.5 1.7
print("MLP      ", *(f"{norm:.1f}" for norm in norms[2:-1:2]))
#> MLP       1.6 1.6 1.6 1.6 1.7 1.6
