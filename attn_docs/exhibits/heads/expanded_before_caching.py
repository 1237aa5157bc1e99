"""Bug: the shared head is repeated for every query head, and the copies are what is kept."""

import torch
import torch.nn.functional as F


def step(query, key, value, cache):  # b h 1 d, b 1 1 d, b 1 1 d
    new = torch.stack([key, value])  # 2 b 1 1 d
    new = new.expand(-1, -1, query.size(1), -1, -1)  # wrong: what is kept has one head
    cache = new.clone() if cache is None else torch.cat([cache, new], dim=3)  # 2 b … m d
    return F.scaled_dot_product_attention(query, *cache, enable_gqa=True), cache
