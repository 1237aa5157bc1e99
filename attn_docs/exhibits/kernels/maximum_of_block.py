"""Bug: each block subtracts its own maximum, which may be far below the one before."""

import torch


def attention(query, key, value, block=4):
    top = query.new_full(query.shape[:-1], -torch.inf)  # … n
    total, mixed = 0, 0
    for k, v in zip(key.split(block, dim=-2), value.split(block, dim=-2), strict=True):
        scores = query / query.size(-1) ** 0.5 @ k.mT  # … n block
        new = scores.amax(-1)  # wrong: the larger of top and this
        shrink = torch.exp(top - new)
        powers = torch.exp(scores - new[..., None])
        total = shrink * total + powers.sum(-1)  # … n
        mixed = shrink[..., None] * mixed + powers @ v  # … n e
        top = new
    return mixed / total[..., None]
