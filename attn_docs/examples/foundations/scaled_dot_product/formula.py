import math

import torch


def attention(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))  # … n m
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # True may attend
    weights = torch.softmax(scores, dim=-1)  # each row sums to 1
    return weights @ value  # … n e


torch.manual_seed(0)
query, key, value = torch.randn(5, 4), torch.randn(7, 4), torch.randn(7, 6)
print(tuple(attention(query, key, value).shape))
#> (5, 6)
