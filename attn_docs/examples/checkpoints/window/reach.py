import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

WINDOW, LENGTH = 8, 40


def gradient(layers):  # how strongly the last output depends on each input: (length,)
    torch.manual_seed(0)
    blocks = [
        Block(MultiHeadAttention(32, 4, window=WINDOW), MLP(32), nn.LayerNorm(32), nn.LayerNorm(32))
        for _ in range(layers)
    ]
    x = torch.randn(16, LENGTH, 32, requires_grad=True)  # b n, embed_dim
    y = x
    for block in blocks:
        y = block(y, is_causal=True)
    (found,) = torch.autograd.grad((y[:, -1] * torch.randn(16, 32)).sum(), x)
    return found.norm(dim=-1).mean(0).flip(0)  # 0 tokens back, 1 token back, …


for layers in (1, 2, 3, 4):
    sizes = gradient(layers)
    reach, beyond = int(sizes.nonzero().max()), sizes[WINDOW:].sum() / sizes.sum()
    print(f"{layers} layers: {reach} tokens back; beyond one window {beyond:.4f} of the gradient")
#> 1 layers: 7 tokens back; beyond one window 0.0000 of the gradient
#> 2 layers: 14 tokens back; beyond one window 0.0317 of the gradient
#> 3 layers: 21 tokens back; beyond one window 0.0494 of the gradient
#> 4 layers: 28 tokens back; beyond one window 0.0674 of the gradient
