import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, dropout=0.1):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, may_attend):  # b n D, n n
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n d
        scores = query @ key.mT / query.size(-1) ** 0.5  # b n n
        scores = scores.masked_fill(~may_attend, -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))  # b n n
        return self.out_proj(weights @ value)  # b n D


from attn_docs import ScaledDotProductSelfAttention, causal_mask

mine, ours = SelfAttention(16).eval(), ScaledDotProductSelfAttention(16).eval()
mine.load_state_dict(ours.state_dict())
x = torch.randn(2, 5, 16)
print(torch.allclose(mine(x, causal_mask(5)), ours(x, causal_mask(5)), atol=1e-6))
#> True
