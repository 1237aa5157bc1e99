"""Bug: a mask of zeros and ones is added to the scores."""

import math

import torch


def attention(query, key, value, is_word):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    mask = is_word[:, None, :]
    scores = scores + mask.to(scores.dtype)  # wrong: + mask_to_additive(mask), 0 and −∞
    return torch.softmax(scores, dim=-1) @ value
