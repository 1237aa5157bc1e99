"""Bug: a block that is masked for a query, before any that is not, makes −∞ − (−∞), NaN."""

import torch


def attention(query, key, value, attn_mask, block=4):
    top = query.new_full(query.shape[:-1], -torch.inf)  # … n
    total, mixed = 0, 0
    for start in range(0, key.size(-2), block):
        keys = slice(start, start + block)
        scores = query / query.size(-1) ** 0.5 @ key[..., keys, :].mT  # … n block
        scores = scores.masked_fill(~attn_mask[..., keys], -torch.inf)
        new = torch.maximum(top, scores.amax(-1))
        base = new  # wrong: 0 where new is -inf
        shrink = torch.exp(top - base)
        powers = torch.exp(scores - base[..., None])
        total = shrink * total + powers.sum(-1)  # … n
        mixed = shrink[..., None] * mixed + powers @ value[..., keys, :]  # … n e
        top = new
    return mixed / total[..., None]
