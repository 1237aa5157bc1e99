"""Bug: a mask made for scores with heads meets scores without."""

import math

import torch


def attention(query, key, value, is_word):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    mask = is_word[:, None, None, :]  # wrong: is_word[:, None, :]
    scores = scores.masked_fill(~mask, float("-inf"))  # b b n m, not b n m
    return torch.softmax(scores, dim=-1) @ value
