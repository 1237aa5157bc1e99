"""Bug: in half precision the scores are made first and scaled afterwards."""

import math

import torch


def attention(query, key, value):
    scores = query @ key.mT  # wrong: above 65,504 this is inf in float16
    weights = torch.softmax(scores / math.sqrt(query.size(-1)), dim=-1)
    return weights @ value
