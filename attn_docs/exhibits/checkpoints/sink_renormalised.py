"""Bug: after the sink is dropped, the weights are made to sum to one again."""

import torch


def attention(query, key, value, sinks):
    scores = query @ key.mT / query.size(-1) ** 0.5
    column = sinks.view(-1, 1, 1).expand(*scores.shape[:-1], 1)
    weights = torch.cat([scores, column], dim=-1).softmax(dim=-1)[..., :-1]
    return weights / weights.sum(dim=-1, keepdim=True) @ value  # wrong: weights @ value
