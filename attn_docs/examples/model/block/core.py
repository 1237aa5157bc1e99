import torch
import torch.nn.functional as F
from torch import nn


class PlainBlock(nn.Module):
    def __init__(self, D, h, dropout=0.0):  # size of a token's vector, heads
        super().__init__()
        self.attention = nn.MultiheadAttention(D, h, batch_first=True)
        self.attention_norm, self.mlp_norm = nn.LayerNorm(D), nn.LayerNorm(D)
        self.up_proj, self.down_proj = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.dropout = nn.Dropout(dropout)

    def forward(self, X):  # b n D: the residual stream
        later = torch.ones(X.size(1), X.size(1), dtype=torch.bool, device=X.device).triu(1)
        causal = {"attn_mask": later, "is_causal": True}  # True hides; PyTorch wants both
        read = self.attention_norm(X)
        attended, _ = self.attention(read, read, read, need_weights=False, **causal)  # b n D
        X_attended = X + self.dropout(attended)
        hidden = F.gelu(self.up_proj(self.mlp_norm(X_attended)))  # b n 4D: each token by itself
        return X_attended + self.dropout(self.down_proj(hidden))  # b n D


from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

plain, X = PlainBlock(12, 3), torch.randn(2, 5, 12)
ours = Block(MultiHeadAttention(12, 3), MLP(12), plain.attention_norm, plain.mlp_norm)
ours.attention = MultiHeadAttention.from_torch(plain.attention)
ours.mlp.up_proj, ours.mlp.down_proj = plain.up_proj, plain.down_proj
print(torch.allclose(plain(X), ours(X, is_causal=True), atol=1e-6))
#> True
