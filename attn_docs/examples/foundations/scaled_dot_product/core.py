import math

import torch


def attention(query, key, value, mask=None):
    scores = (query / math.sqrt(query.size(-1))) @ key.mT  # … n m
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # True may attend
    weights = torch.softmax(scores, dim=-1)  # … n m: sums to one; NaN if all is masked
    return weights @ value  # … n e


import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
query, key, value = (x @ w for w in projections(sharpness=6.0))  # n d, m d, m e
output = attention(query[3:4], key, value)  # one query, that of "it"
print(labelled(output, WORDS[3:4], MEANINGS))
#>     definite    animal    asleep  dreaming
#> it      0.03      0.89      0.03      0.03
for known in (scaled_dot_product_attention, F.scaled_dot_product_attention):
    print(torch.allclose(output, known(query[3:4], key, value)))
#> True
#> True
