"""Bug: the scale is that of the vectors that come in, not that of queries and keys."""

import math

from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)

    def forward(self, x):
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)
        scale = 1 / math.sqrt(x.size(-1))  # wrong: 1 / math.sqrt(query.size(-1))
        return (query @ key.mT * scale).softmax(dim=-1) @ value
