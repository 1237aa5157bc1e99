"""Bug: the padding mask hides the queries that are padding, not the keys."""

import math

import torch


def attention(query, key, value, is_word):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    mask = is_word[:, :, None]  # wrong: is_word[:, None, :]
    weights = torch.softmax(scores.masked_fill(~mask, -10_000), dim=-1)
    return weights @ value
