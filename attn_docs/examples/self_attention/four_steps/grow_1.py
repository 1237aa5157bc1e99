import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim)
        self.k_proj = nn.Linear(embed_dim, head_dim)
        self.v_proj = nn.Linear(embed_dim, head_dim)

    def forward(self, x):  # b n D
        query, key, value = self.q_proj(x), self.k_proj(x), self.v_proj(x)  # b n d
        scores = query @ key.mT / query.size(-1) ** 0.5  # b n n
        weights = scores.softmax(dim=-1)  # b n n
        return weights @ value  # b n d


print(SelfAttention(8, 4)(torch.randn(2, 5, 8)).shape)  # b n d
#> torch.Size([2, 5, 4])
