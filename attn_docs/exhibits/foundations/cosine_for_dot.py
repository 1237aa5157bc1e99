"""Bug: the vectors are normalised first, so the dot product is a cosine and length is lost."""

import torch.nn.functional as F

from attn_docs import ScoreAttention


class DotProduct(ScoreAttention):
    def score(self, query, key):
        a, b = F.normalize(query, dim=-1), F.normalize(key, dim=-1)  # wrong: a, b = query, key
        return a @ b.mT / query.size(-1) ** 0.5
