"""Bug: a view takes every third number for the query, not the first third."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)

    def forward(self, x):
        projected = self.qkv_proj(x)
        b, n, d = x.size(0), x.size(1), projected.size(-1) // 3
        parts = projected.view(b, n, d, 3).mT  # wrong: projected.view(b, n, 3, d)
        query, key, value = parts.unbind(-2)
        return F.scaled_dot_product_attention(query, key, value)
