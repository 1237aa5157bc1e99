"""Bug: keys are kept as they are and turned when they are read, but all by the last position."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache, rotary):  # b h n d, b g n d, b g n d: the new words
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)  # b g m d, not turned yet
        value = torch.cat((cache[1], value), dim=2)
    n, m = query.size(2), key.size(2)
    query = rotary(query, torch.arange(m - n, m))
    turned = rotary(key, torch.full((m,), m - 1))  # wrong: every key stands at the end
    causal = n == m
    heads = F.scaled_dot_product_attention(query, turned, value, is_causal=causal, enable_gqa=True)
    return heads, (key, value)
