"""Bug: the fused layer is read as query, key and value of one head after the other."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, num_heads=2):
        super().__init__()
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)
        self.num_heads = num_heads

    def forward(self, x):
        h, d = self.num_heads, self.qkv_proj.out_features // 3 // self.num_heads
        projected = self.qkv_proj(x)  # b n 3·h·d: all queries, all keys, all values
        heads = projected.unflatten(-1, (h, 3, d)).transpose(1, 2)  # wrong: 3 before h
        query, key, value = heads.unbind(-2)  # b h n d
        return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
