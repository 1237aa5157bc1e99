import torch
import torch.nn.functional as F
from torch import nn

b, n, D, h = 2, 5, 12, 3  # texts, tokens, size of a token's vector, heads
attention = nn.MultiheadAttention(D, h, batch_first=True)
attention_norm, mlp_norm = nn.LayerNorm(D), nn.LayerNorm(D)
up_proj, down_proj = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
future = torch.ones(n, n).triu(1).bool()  # n n: PyTorch's module hides what is True

x = stream = torch.randn(b, n, D)  # the residual stream
read = attention_norm(x)
x = x + attention(read, read, read, attn_mask=future)[0]  # b n D: tokens exchange
hidden = F.gelu(up_proj(mlp_norm(x)))  # b n 4D: each token by itself
x = x + down_proj(hidden)  # b n D

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

mlp = MLP(D)
mlp.up_proj, mlp.down_proj = up_proj, down_proj
block = Block(MultiHeadAttention.from_torch(attention), mlp, attention_norm, mlp_norm)
print(torch.allclose(x, block(stream, is_causal=True), atol=1e-6))
#> True
