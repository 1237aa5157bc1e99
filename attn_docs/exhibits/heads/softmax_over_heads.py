"""Bug: the softmax runs over the heads, not over the keys."""

import torch

from attn_docs import merge_heads, split_heads


def attention(query, key, value, num_heads):
    query, key, value = (split_heads(x, num_heads) for x in (query, key, value))  # b h n d
    scores = query @ key.mT * query.size(-1) ** -0.5  # b h n m
    weights = torch.softmax(scores, dim=1)  # wrong: dim=-1
    return merge_heads(weights @ value)
