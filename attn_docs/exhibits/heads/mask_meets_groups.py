"""Bug: a mask for scores with four axes meets scores with five."""

import math

import torch


def attention(query, key, value, mask):  # mask: b 1 n m
    groups = key.size(1)
    query = query.unflatten(1, (groups, -1))  # b g r n d
    scores = torch.einsum("bgrnd,bgmd->bgrnm", query, key) / math.sqrt(query.size(-1))
    scores = scores.masked_fill(~mask, -math.inf)  # wrong: ~mask.unsqueeze(2)
    weights = torch.softmax(scores, dim=-1)  # b g r n m
    return torch.einsum("bgrnm,bgme->bgrne", weights, value).flatten(1, 2)
