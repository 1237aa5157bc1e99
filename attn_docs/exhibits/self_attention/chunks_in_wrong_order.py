"""Bug: the fused layer's three parts are given the wrong names."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)

    def forward(self, x):
        projected = self.qkv_proj(x)
        query, value, key = projected.chunk(3, dim=-1)  # wrong: query, key, value
        return F.scaled_dot_product_attention(query, key, value)
