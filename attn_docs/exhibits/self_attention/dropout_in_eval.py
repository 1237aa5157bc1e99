"""Bug: the function drops whatever probability it is given, and gets it in eval too."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, dropout):
        super().__init__()
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)
        self.dropout = dropout

    def forward(self, x):
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)
        dropout_p = self.dropout  # wrong: self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout_p)
