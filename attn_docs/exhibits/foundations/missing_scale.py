"""Bug: the scores are not divided by √d."""

import torch


def attention(query, key, value):
    scores = query @ key.mT  # wrong: no / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-1) @ value
