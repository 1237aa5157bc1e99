"""Bug: forbidden scores are very low instead of −∞, so an empty row becomes the mean."""

import math

import torch


def attention(query, key, value, is_word):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    mask = is_word[:, None, :]
    scores = scores.masked_fill(~mask, -1e20)
    weights = torch.softmax(scores, dim=-1)  # wrong: no .masked_fill(~mask, 0.0)
    return weights @ value
