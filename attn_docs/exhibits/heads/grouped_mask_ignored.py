"""Bug: the mask is an argument that nothing uses."""

import torch.nn.functional as F


def attention(query, key, value, attn_mask=None):
    mask = None  # wrong: attn_mask
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
