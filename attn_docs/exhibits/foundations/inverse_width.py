"""Bug: a number that multiplies the distance is called the width; it is one over the width."""

import torch


def regression(query, keys, values, width):
    scores = -0.5 * ((query[:, None] - keys) * width) ** 2  # wrong: / width
    return torch.softmax(scores, dim=1) @ values
