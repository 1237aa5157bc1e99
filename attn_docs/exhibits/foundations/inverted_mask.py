"""Bug: True means "may attend", and is taken for "forbidden"."""

import math

import torch


def attention(query, key, value, is_word):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    mask = is_word[:, None, :]
    scores = scores.masked_fill(mask, float("-inf"))  # wrong: masked_fill(~mask, …)
    return torch.softmax(scores, dim=-1) @ value
