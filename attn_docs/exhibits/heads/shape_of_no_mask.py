"""Bug: a line left from debugging asks for the shape of a mask that may be None."""

import torch.nn.functional as F


def attention(query, key, value, mask=None):
    print("mask:", mask.shape)  # wrong: None if mask is None else mask.shape
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
