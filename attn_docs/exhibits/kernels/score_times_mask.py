"""Bug: a score_mod multiplies by the mask, and a score of 0 is not a weight of 0."""

import torch


def document(ids):
    def score_mod(score, b, h, q, kv):
        own = (ids[q] == ids[kv]) & (q >= kv)
        return torch.where(own, score, 0.0)  # wrong: e to the power of 0 is 1

    return score_mod
