"""Bug: a mask (batch, n, m) meets scores (batch, heads, n, m), and its batch is taken as heads."""

import torch

from attn_docs import merge_heads, split_heads


def attention(query, key, value, num_heads, mask):
    query, key, value = (split_heads(x, num_heads) for x in (query, key, value))  # b h n d
    scores = query @ key.mT * query.size(-1) ** -0.5  # b h n m
    scores = scores.masked_fill(~mask, float("-inf"))  # wrong: ~mask[:, None]
    return merge_heads(torch.softmax(scores, dim=-1) @ value)
