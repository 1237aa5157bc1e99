"""Bug: positions run over the heads, because length and heads have not changed places yet."""

import torch
import torch.nn.functional as F

from attn_docs import apply_rotary


def rotate(x):  # (batch, heads, length, head_dim)
    return apply_rotary(x, torch.arange(x.size(2)))


def attention(query, key, value):  # (batch, length, heads, head_dim)
    query, key = rotate(query), rotate(key)  # wrong: rotate(query.transpose(1, 2)) …
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))  # b h n d
    return F.scaled_dot_product_attention(query, key, value)
