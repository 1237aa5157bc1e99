import torch
import torch.nn.functional as F
from torch import nn


class PlainBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.attention_norm, self.mlp_norm = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.up_proj = nn.Linear(embed_dim, 4 * embed_dim)
        self.down_proj = nn.Linear(4 * embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):  # b n D: the residual stream
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        causal = {"attn_mask": later, "is_causal": True}  # True hides; PyTorch wants both
        read = self.attention_norm(x)
        attended, _ = self.attention(read, read, read, need_weights=False, **causal)  # b n D
        x = x + self.dropout(attended)
        hidden = F.gelu(self.up_proj(self.mlp_norm(x)))  # b n 4D: each token by itself
        return x + self.dropout(self.down_proj(hidden))  # b n D


from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block

plain, x = PlainBlock(12, 3), torch.randn(2, 5, 12)
nn.init.uniform_(plain.mlp_norm.weight)  # gains other than one, so that no norm can be confused
ours = Block(MultiHeadAttention(12, 3), MLP(12), plain.attention_norm, plain.mlp_norm)
ours.attention = MultiHeadAttention.from_torch(plain.attention)
ours.mlp.up_proj, ours.mlp.down_proj = plain.up_proj, plain.down_proj
print(torch.allclose(plain(x), ours(x, is_causal=True), atol=1e-6))
#> True
