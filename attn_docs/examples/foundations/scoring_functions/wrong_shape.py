import torch

from attn_docs import ScoreAttention


class Mistake(ScoreAttention):
    def score(self, query, key):
        return key @ query.mT  # b m n


query, key, value = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 6)
try:
    Mistake()(query, key, value)
except ValueError as error:
    print(error)
#> Mistake.score must return shape (batch, n, m) = (2, 5, 7); got (2, 7, 5)
