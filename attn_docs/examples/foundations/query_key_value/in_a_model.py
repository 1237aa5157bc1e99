import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, embed_dim, head_dim, value_dim):
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, head_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, value_dim, bias=False)

    def forward(self, x):  # b n D
        query, key, value = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        return F.scaled_dot_product_attention(query, key, value)  # b n e


print(Attention(8, 3, 4)(torch.randn(2, 5, 8)).shape)
#> torch.Size([2, 5, 4])
