import math

import torch
import torch.nn.functional as F


def attention(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.size(-1))  # how well keys fit
    scores = scores.masked_fill(~mask, float("-inf"))  # True may attend
    weights = torch.softmax(scores, dim=-1)  # each row sums to 1
    return weights @ value  # a mean of the values


torch.manual_seed(0)  # five words
query, key, value = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 6)
causal = torch.ones(5, 5, dtype=torch.bool).tril()  # no word sees a later one

ours = attention(query, key, value, causal)
theirs = F.scaled_dot_product_attention(query, key, value, causal)
print(tuple(ours.shape), torch.allclose(ours, theirs, atol=1e-6))
#> (5, 6) True
