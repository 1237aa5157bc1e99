"""Bug: with a cache, each new token is rotated as if it were the first."""

import torch


def step(attend, x, cache):  # the next token, b 1 embed_dim
    positions = torch.arange(x.size(1))  # wrong: cache.length + torch.arange(x.size(1))
    return attend(x, is_causal=True, cache=cache, positions=positions)
