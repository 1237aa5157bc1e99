"""Bug: a width is given to code whose parameter is one over the width, another convention."""

import torch


def regression(query, keys, values, width):
    scores = -0.5 * ((query[:, None] - keys) * width) ** 2  # wrong: / width
    return torch.softmax(scores, dim=1) @ values
