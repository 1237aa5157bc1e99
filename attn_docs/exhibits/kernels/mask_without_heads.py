"""Bug: the mask has an axis of the batch and none of the heads, which only MATH takes."""

import torch
import torch.nn.functional as F


def attention(query, key, value):
    mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    mask = mask[None]  # wrong: mask[None, None]
    return F.scaled_dot_product_attention(query, key, value, mask)
