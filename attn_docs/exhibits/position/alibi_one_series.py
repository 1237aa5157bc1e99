"""Bug: one geometric series of ALiBi's slopes, although the heads are not a power of two."""

import torch


def slopes(num_heads):
    power = num_heads  # wrong: 1 << (num_heads.bit_length() - 1)
    own = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    between = [2 ** (-4 * i / power) for i in range(1, 2 * (num_heads - power), 2)]
    return torch.tensor(own + between)
