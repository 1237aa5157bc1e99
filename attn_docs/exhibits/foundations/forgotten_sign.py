"""Bug: the squared distance is the score, so the farthest key gets the largest weight."""

from attn_docs import ScoreAttention


class Gaussian(ScoreAttention):
    def score(self, query, key):
        differences = query.unsqueeze(-2) - key.unsqueeze(-3)  # b n m d
        return differences.square().sum(-1) / 2  # wrong: a minus sign is missing
