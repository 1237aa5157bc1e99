"""Bug: the values go through the keys' projection."""

import torch.nn.functional as F

from attn_docs import merge_heads, split_heads


def attention(layer, x):
    query = split_heads(layer.q_proj(x), layer.num_heads)  # b h n d
    key = split_heads(layer.k_proj(x), layer.num_heads)
    value = split_heads(layer.k_proj(x), layer.num_heads)  # wrong: layer.v_proj(x)
    heads = F.scaled_dot_product_attention(query, key, value)
    return layer.out_proj(merge_heads(heads))
