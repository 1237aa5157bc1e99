"""Bug: the helper reads a global, and its argument is for nothing."""

import torch.nn.functional as F

from attn_docs import merge_heads

HEADS = 2


def split(x, num_heads):
    return x.unflatten(2, (HEADS, -1)).transpose(1, 2)  # wrong: num_heads


def attention(query, key, value, num_heads):
    query, key, value = (split(x, num_heads) for x in (query, key, value))  # b h n d
    heads = F.scaled_dot_product_attention(query, key, value)
    return merge_heads(heads)
