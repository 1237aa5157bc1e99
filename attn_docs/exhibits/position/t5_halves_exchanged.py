"""Bug: the distance is query minus key, so what comes before and after change places."""

import torch

from attn_docs import t5_bucket


def bias(table, n):  # an embedding of 32 buckets
    at = torch.arange(n)
    distance = at[:, None] - at  # wrong: at - at[:, None]
    return table(t5_bucket(distance, bidirectional=True)).permute(2, 0, 1)[None]  # 1 h n n
