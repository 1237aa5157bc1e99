"""Bug: the softmax runs over the queries, so a prediction depends on what else is asked."""

import torch


def regression(query, keys, values, width):
    scores = -0.5 * ((query[:, None] - keys) / width) ** 2
    return torch.softmax(scores, dim=0) @ values  # wrong: dim=1 is the axis of the pairs
