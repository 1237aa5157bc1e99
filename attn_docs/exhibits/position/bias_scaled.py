"""Bug: the bias is added before the scores are scaled, and shrinks with them."""

import math


def scores(query, key, bias):  # b h n d, b h m d, 1 h n m
    scale = 1 / math.sqrt(query.size(-1))
    return (query @ key.mT + bias) * scale  # wrong: query @ key.mT * scale + bias
