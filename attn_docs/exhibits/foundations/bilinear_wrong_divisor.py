"""Bug: the divisor is that of unit-variance entries; the matrix starts with small ones."""

import torch


def attention(query, key, value, weight):
    divisor = weight.numel() ** 0.5  # wrong: weight.numel() ** 0.25
    scores = query @ weight @ key.mT / divisor
    return torch.softmax(scores, dim=-1) @ value
