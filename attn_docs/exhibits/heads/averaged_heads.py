"""Bug: the keys and values of all heads are computed, and then averaged to one."""

import torch.nn.functional as F
from torch import nn

from attn_docs import merge_heads, split_heads


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        kv_dim = embed_dim  # wrong: self.head_dim
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, kv_dim)
        self.v_proj = nn.Linear(embed_dim, kv_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        query = split_heads(self.q_proj(x), self.num_heads)  # b h n d
        heads = self.k_proj.out_features // self.head_dim
        key = split_heads(self.k_proj(x), heads).mean(1, keepdim=True)  # b 1 n d
        value = split_heads(self.v_proj(x), heads).mean(1, keepdim=True)
        output = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        return self.out_proj(merge_heads(output))
