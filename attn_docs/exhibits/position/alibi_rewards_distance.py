"""Bug: the bias of ALiBi has the wrong sign, so far keys get more than near ones."""

import torch


def bias(slopes, n):
    at = torch.arange(n)
    distance = at[:, None] - at  # wrong: at - at[:, None]
    return slopes[:, None, None] * distance  # h n n, for a causal mask
