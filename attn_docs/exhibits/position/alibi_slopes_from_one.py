"""Bug: the exponents of ALiBi's slopes are counted from 0, so the first slope is 1."""

import torch


def slopes(num_heads):  # a power of two
    first = 0  # wrong: 1
    return 2.0 ** (-8 * torch.arange(first, first + num_heads) / num_heads)
