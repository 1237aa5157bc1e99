import torch
from torch import nn

from attn_docs import MultiHeadAttention

b, n, D, h = 2, 5, 12, 3  # texts, tokens, size of a token's vector, heads
x = torch.randn(b, n, D)  # the residual stream
attention = MultiHeadAttention(D, h)
attention_norm, mlp_norm = nn.LayerNorm(D), nn.LayerNorm(D)
up_proj, down_proj = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

x_in = x
x = x + attention(attention_norm(x), is_causal=True)  # b n D: tokens exchange
hidden = nn.functional.gelu(up_proj(mlp_norm(x)))  # b n 4D: each token by itself
x = x + down_proj(hidden)  # b n D

from attn_docs.model import MLP, Block

mlp = MLP(D)
mlp.up_proj, mlp.down_proj = up_proj, down_proj
block = Block(attention, mlp, attention_norm, mlp_norm)
print(torch.allclose(x, block(x_in, is_causal=True), atol=1e-6))
#> True
