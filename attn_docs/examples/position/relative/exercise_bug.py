import torch
from torch import nn

from attn_docs import t5_bucket

table = nn.Embedding(32, 4)  # loaded from a trained encoder


def bias(n):
    at = torch.arange(n)
    distance = at[:, None] - at  # n n
    buckets = t5_bucket(distance, bidirectional=True)
    return table(buckets).permute(2, 0, 1)[None]  # 1 h n n


print(tuple(bias(5).shape))
#> (1, 4, 5, 5)
