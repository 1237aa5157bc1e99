"""Bug: the matrix is used the wrong way round; with sizes that agree, nothing fails."""

import torch


def attention(query, key, value, weight):
    divisor = weight.numel() ** 0.25
    scores = query @ weight.T @ key.mT / divisor  # wrong: query @ weight @ key.mT
    return torch.softmax(scores, dim=-1) @ value
