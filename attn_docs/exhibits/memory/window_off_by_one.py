"""Bug: a window of 3 keys that lets a query see 4."""

import torch
import torch.nn.functional as F

WINDOW = 3


def step(query, key, value, cache):  # b h n d, b g n d, b g n d: the new tokens
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)  # b g m d
        value = torch.cat((cache[1], value), dim=2)
    n, m = query.size(2), key.size(2)
    at, keys = torch.arange(m - n, m).unsqueeze(1), torch.arange(m)
    recent = at - keys <= WINDOW  # wrong: 0 to WINDOW are WINDOW + 1 distances
    mask = recent & (keys <= at)
    heads = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    return heads, (key, value)
