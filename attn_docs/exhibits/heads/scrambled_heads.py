"""Bug: the heads are made by a view alone, which moves no number to its head."""

import torch.nn.functional as F

from attn_docs import merge_heads


def split(x, num_heads):
    batch, length, _ = x.shape
    return x.view(batch, num_heads, length, -1)  # wrong: length, num_heads, then transpose(1, 2)


def attention(query, key, value, num_heads):
    query, key, value = (split(x, num_heads) for x in (query, key, value))  # b h n d
    heads = F.scaled_dot_product_attention(query, key, value)
    return merge_heads(heads)
