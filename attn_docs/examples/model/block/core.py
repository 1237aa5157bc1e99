import torch
import torch.nn.functional as F
from torch import nn

b, n, D, h = 2, 5, 12, 3  # texts, tokens, size of a token's vector, heads
attention = nn.MultiheadAttention(D, h, batch_first=True)
attention_norm, mlp_norm = nn.LayerNorm(D), nn.LayerNorm(D)
up_proj, down_proj = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
causal = {"attn_mask": torch.ones(n, n).triu(1).bool(), "is_causal": True}  # True hides

X = torch.randn(b, n, D)  # the residual stream
read = attention_norm(X)
X_attended = X + attention(read, read, read, need_weights=False, **causal)[0]  # b n D
hidden = F.gelu(up_proj(mlp_norm(X_attended)))  # b n 4D: each token by itself
X_out = X_attended + down_proj(hidden)  # b n D

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

mlp = MLP(D)
mlp.up_proj, mlp.down_proj = up_proj, down_proj
block = Block(MultiHeadAttention.from_torch(attention), mlp, attention_norm, mlp_norm)
print(torch.allclose(X_out, block(X, is_causal=True), atol=1e-6))
#> True
