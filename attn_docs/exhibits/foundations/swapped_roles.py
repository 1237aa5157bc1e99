"""Bug: keys ask and queries answer; with as many queries as keys the shape is right."""

import math

import torch


def attention(query, key, value):
    scores = key @ query.mT / math.sqrt(query.size(-1))  # wrong: query @ key.mT
    return torch.softmax(scores, dim=-1) @ value
