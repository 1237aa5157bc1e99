"""Bug: a new maximum rescales the sum of each row, but not what is mixed so far."""

import math

import torch


def attention(query, key, value, block=2):  # … n d, … m d, … m e
    top = torch.full_like(query[..., :1], -math.inf)  # … n 1
    total, mixed = torch.zeros_like(top), 0.0
    for k, v in zip(key.split(block, -2), value.split(block, -2), strict=True):
        scores = query @ k.mT / math.sqrt(query.size(-1))  # … n block
        new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
        powers, shrink = (scores - new_top).exp(), (top - new_top).exp()
        total = total * shrink + powers.sum(-1, keepdim=True)
        mixed = mixed + powers @ v  # wrong: mixed * shrink + powers @ v
        top = new_top
    return mixed / total  # … n e
