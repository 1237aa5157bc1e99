"""Bug: keys are cached unrotated and rotated on reading, but all by the last position."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache, rotary):  # b h n d, b g n d, b g n d: the new tokens
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)  # b g m d, not rotated yet
        value = torch.cat((cache[1], value), dim=2)
    n, m = query.size(2), key.size(2)
    query = rotary(query, torch.arange(m - n, m))
    rotated = rotary(key, torch.full((m,), m - 1))  # wrong: all keys get the position of the last
    causal = n == m
    heads = F.scaled_dot_product_attention(query, rotated, value, is_causal=causal, enable_gqa=True)
    return heads, (key, value)
