import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(embed_dim, 3 * head_dim)

    def forward(self, x):  # b n D
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n d
        scores = query @ key.mT / query.size(-1) ** 0.5  # b n n
        weights = scores.softmax(dim=-1)  # b n n
        return weights @ value  # b n d


print(SelfAttention(8, 4)(torch.randn(2, 5, 8)).shape)  # b n d
#> torch.Size([2, 5, 4])
