"""Bug: D is summed over the wrong axis: a number for each element of a value, not each query."""

import math


def gradients(query, key, value, output, d_out):  # … n d, … m d, … m e, … n e, … n e
    scale = 1 / math.sqrt(query.size(-1))
    scores = query @ key.mT * scale
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()  # … n m
    delta = (d_out * output).sum(-2, keepdim=True)  # wrong: .sum(-1, keepdim=True)
    d_value = weights.mT @ d_out  # … m e
    d_weights = d_out @ value.mT  # … n m
    d_scores = weights * (d_weights - delta)  # … n m
    d_query = d_scores @ key * scale  # … n d
    d_key = d_scores.mT @ query * scale  # … m d
    return d_query, d_key, d_value
