"""Bug: the cap makes a finite score of what the mask has hidden."""

import torch

from attn_docs import causal_mask


def attention(query, key, value, *, softcap):
    def mask(scores):
        future = ~causal_mask(scores.size(-2), scores.size(-1))
        return scores.masked_fill(future, float("-inf"))

    def cap(scores):
        return softcap * torch.tanh(scores / softcap)

    scores = query @ key.mT / query.size(-1) ** 0.5
    return cap(mask(scores)).softmax(dim=-1) @ value  # wrong: mask(cap(scores))
