"""Bug: the shared heads are repeated for every query head, and the copies are what is cached."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache):  # b h 1 d, b g 1 d, b g 1 d
    group = query.size(1) // key.size(1)
    new = torch.stack([key, value])  # 2 b g 1 d
    new = new.repeat_interleave(group, dim=2)  # wrong: what is cached has g heads
    cache = new if cache is None else torch.cat([cache, new], dim=3)  # 2 b … m d
    return F.scaled_dot_product_attention(query, *cache, enable_gqa=True), cache
