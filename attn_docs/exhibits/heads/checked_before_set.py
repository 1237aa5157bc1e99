"""Bug: the constructor reads an attribute that it sets one line later."""

from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads):
        super().__init__()
        assert self.num_heads % num_kv_heads == 0  # wrong: num_heads % num_kv_heads == 0
        self.num_heads = num_heads
        self.k_proj = nn.Linear(embed_dim, num_kv_heads * (embed_dim // num_heads))
