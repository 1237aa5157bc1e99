"""Bug: the scores are divided by the root of the whole vector's size, not of a head's."""

import torch.nn.functional as F

from attn_docs import merge_heads, split_heads


def attention(query, key, value, num_heads):
    scale = query.size(-1) ** -0.5  # wrong: (query.size(-1) // num_heads) ** -0.5
    query, key, value = (split_heads(x, num_heads) for x in (query, key, value))  # b h n d
    heads = F.scaled_dot_product_attention(query, key, value, scale=scale)
    return merge_heads(heads)
