"""Bug: the softmax runs over the queries, so each key has weights to share, not each query."""

import math

import torch


def attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-2) @ value  # wrong: dim=-1 is the axis of the keys
