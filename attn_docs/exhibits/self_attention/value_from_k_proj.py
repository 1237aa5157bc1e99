"""Bug: the values are made with the keys' projection, so one layer is never used."""

import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.q_proj = nn.Linear(input_dim, output_dim)
        self.k_proj = nn.Linear(input_dim, output_dim)
        self.v_proj = nn.Linear(input_dim, output_dim)

    def forward(self, x):
        query = self.q_proj(x)
        key = self.k_proj(x)
        value = self.k_proj(x)  # wrong: self.v_proj(x)
        return F.scaled_dot_product_attention(query, key, value)
