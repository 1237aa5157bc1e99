"""Bug: the numbers of each key are repeated, not the heads."""

import torch.nn.functional as F


def share(x, kv_heads, group):  # b m g·d
    heads = x.unflatten(-1, (kv_heads, -1))  # b m g d
    heads = heads.repeat_interleave(group, dim=-1)  # wrong: dim=2
    return heads.reshape(*x.shape[:2], kv_heads * group, -1).transpose(1, 2)  # b h m d


def attention(query, key, value, kv_heads):  # b h n d, b m g·d, b m g·d
    group = query.size(1) // kv_heads
    key, value = share(key, kv_heads, group), share(value, kv_heads, group)
    return F.scaled_dot_product_attention(query, key, value)
