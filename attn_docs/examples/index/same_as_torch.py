import math

import torch
from torch.nn.functional import scaled_dot_product_attention


def attention(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.size(-1))  # how well does each key fit?
    scores = scores.masked_fill(~mask, float("-inf"))  # True may attend
    weights = torch.softmax(scores, dim=-1)  # each row sums to 1
    return weights @ value  # a mean of the values


torch.manual_seed(0)
query, key, value = torch.randn(5, 4), torch.randn(7, 4), torch.randn(7, 6)
causal = torch.ones(5, 7, dtype=torch.bool).tril(7 - 5)  # the last query sees every key
output = attention(query, key, value, causal)

print(tuple(output.shape))
#> (5, 6)
print(torch.allclose(output, scaled_dot_product_attention(query, key, value, causal), atol=1e-6))
#> True
