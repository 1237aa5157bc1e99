"""Bug: the scores' gradient reaches the keys without being transposed."""

import math


def gradients(query, key, value, output, d_out):  # … n d, … m d, … m e, … n e, … n e
    scale = 1 / math.sqrt(query.size(-1))
    scores = query @ key.mT * scale
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()  # … n m
    delta = (d_out * output).sum(-1, keepdim=True)  # … n 1
    d_value = weights.mT @ d_out  # … m e
    d_weights = d_out @ value.mT  # … n m
    d_scores = weights * (d_weights - delta)  # … n m
    d_query = d_scores @ key * scale  # … n d
    d_key = d_scores @ query * scale  # wrong: d_scores.mT @ query
    return d_query, d_key, d_value
