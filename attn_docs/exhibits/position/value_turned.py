"""Bug: the values are rotated as well."""

import torch.nn.functional as F

from attn_docs import apply_rotary


def attention(query, key, value, positions):  # b h n d
    query, key = apply_rotary(query, positions), apply_rotary(key, positions)
    value = apply_rotary(value, positions)  # wrong: without this line
    return F.scaled_dot_product_attention(query, key, value)
