import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim, dropout=0.1):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * head_dim)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(head_dim, embed_dim)

    def forward(self, x, attn_mask):  # b n D; n n or b 1 n
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n d
        scores = query @ key.mT / query.size(-1) ** 0.5  # b n n
        scores = scores.masked_fill(~attn_mask, -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))  # b n n
        return self.out_proj(weights @ value)  # b n D


causal = torch.ones(5, 5, dtype=torch.bool).tril()
print(SelfAttention(8, 4)(torch.randn(2, 5, 8), causal).shape)  # b n D
#> torch.Size([2, 5, 8])
