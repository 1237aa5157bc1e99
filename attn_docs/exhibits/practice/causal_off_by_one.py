# Made from docs/practice/bugs-that-train/bugs.toml by `make outputs`: edit it there.
"""Bug: each token sees the next one."""

import math

import torch
from torch import nn


def split(x, heads):  # b n h·d to b h n d
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x):  # b h n d to b n h·d
    return x.transpose(1, 2).flatten(2)


def masked_softmax(scores, allowed):
    some = allowed.any(-1, keepdim=True)  # a query with no key at all gets zeros
    weights = torch.softmax(scores.masked_fill(some & ~allowed, -math.inf), dim=-1)
    return weights * some


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads=None, dropout=0.1):
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads or num_heads
        head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, num_heads * head_dim)
        self.k_proj = nn.Linear(embed_dim, self.num_kv_heads * head_dim)
        self.v_proj = nn.Linear(embed_dim, self.num_kv_heads * head_dim)
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        context = x if context is None else context
        query = split(self.q_proj(x), self.num_heads)  # b h n d
        key = split(self.k_proj(context), self.num_kv_heads)  # b g m d
        value = split(self.v_proj(context), self.num_kv_heads)  # b g m d
        group = self.num_heads // self.num_kv_heads
        key, value = (t.repeat_interleave(group, dim=1) for t in (key, value))  # b h m d
        scores = query @ key.mT / math.sqrt(query.size(-1))  # b h n m
        n, m = scores.shape[-2:]
        allowed = torch.ones(n, m, dtype=torch.bool, device=x.device)
        if is_causal:
            allowed = allowed.tril(m - n + 1)  # wrong: m - n
        if attn_mask is not None:
            allowed = allowed & attn_mask  # True: may attend
        weights = self.dropout(masked_softmax(scores, allowed))
        return self.out_proj(merge(weights @ value))
