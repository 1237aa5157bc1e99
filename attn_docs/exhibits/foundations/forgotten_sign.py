"""Bug: the squared distance is the score, so the farthest key gets the largest weight."""

import torch

from attn_docs import ScoreAttention


class Gaussian(ScoreAttention):
    def score(self, query, key):
        return torch.cdist(query, key).square() / 2  # wrong: a minus sign is missing
