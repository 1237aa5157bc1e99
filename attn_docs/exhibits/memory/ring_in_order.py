"""Bug: a mask is applied to the slots of a ring as if they were in the order of the text."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache, attn_mask):  # one new token; the mask is b 1 1 m
    m = cache.length + 1
    kept = torch.arange(m)[-cache.window :]  # wrong: after a round the newest is not last
    key, value = cache.update(key, value)  # b g slots d
    mask = attn_mask[..., kept]
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
