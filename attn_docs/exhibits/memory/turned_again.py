"""Bug: keys that were rotated before they were cached are rotated again in every step."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache, rotary):  # b h n d, b g n d, b g n d: the new tokens
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)  # b g m d
        value = torch.cat((cache[1], value), dim=2)
    n, m = query.size(2), key.size(2)
    query = rotary(query, torch.arange(m - n, m))
    new = 0  # wrong: the keys from the cache are rotated already
    key = torch.cat((key[:, :, :new], rotary(key[:, :, new:], torch.arange(new, m))), 2)
    causal = n == m
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=causal, enable_gqa=True)
    return heads, (key, value)
