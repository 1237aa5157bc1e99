"""Bug: the query is scaled in place, so the caller's tensor changes with every call."""

import torch.nn.functional as F

from attn_docs import merge_heads, split_heads


def attention(query, key, value, num_heads):
    query *= (query.size(-1) // num_heads) ** -0.5  # wrong: query = query * …
    query, key, value = (split_heads(x, num_heads) for x in (query, key, value))  # b h n d
    heads = F.scaled_dot_product_attention(query, key, value, scale=1.0)
    return merge_heads(heads)
