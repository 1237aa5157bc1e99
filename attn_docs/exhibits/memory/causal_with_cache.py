"""Bug: `is_causal=True` with a cache: PyTorch aligns the first query with the first key."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache):  # b h n d, b g n d, b g n d: the new tokens
    if cache is not None:
        key = torch.cat((cache[0], key), dim=2)  # b g m d
        value = torch.cat((cache[1], value), dim=2)
    causal = True  # wrong: a single new query sees the first key and nothing else
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=causal, enable_gqa=True)
    return heads, (key, value)
