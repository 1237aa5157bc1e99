"""Bug: the key is reshaped to (d, m) where it must be transposed."""

import math

import torch


def attention(query, key, value):
    *leading, m, d = key.shape
    scores = query @ key.reshape(*leading, d, m) / math.sqrt(d)  # wrong: key.mT
    return torch.softmax(scores, dim=-1) @ value
