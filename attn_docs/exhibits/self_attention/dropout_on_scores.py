"""Bug: dropout falls on the scores, before the softmax, and not on the weights."""

import math

import torch.nn.functional as F


def attention(query, key, value, dropout_p, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.softmax(F.dropout(scores, dropout_p), dim=-1)  # wrong: dropout last
    return weights @ value
