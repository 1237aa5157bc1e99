"""Bug: the scores have a row for each key; with as many queries as keys the shape is right."""

import torch

from attn_docs import ScoreAttention


class DotProduct(ScoreAttention):
    def score(self, query, key):
        scores = torch.einsum("bnd,bmd->bmn", query, key)  # wrong: bnm, a row for each query
        return scores / query.size(-1) ** 0.5
