import math

import torch


def attention(x, w_q, w_k, w_v):
    query, key, value = x @ w_q, x @ w_k, x @ w_v  # n d, m d, m e
    scores = query @ key.mT / math.sqrt(query.size(-1))  # n m: each query with each key
    weights = torch.softmax(scores, dim=-1)  # n m: each row sums to one
    return weights @ value, weights  # n e: for each word a weighted mean


from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()  # n D: five words, eight features
matrices = projections(sharpness=6.0)  # D d, D d, D e
output, weights = attention(x, *matrices)
print(labelled(weights, WORDS, WORDS))
#>            the     cat  sleeps      it  dreams
#> the       0.03    0.89    0.03    0.03    0.03
#> cat       0.01    0.01    0.48    0.01    0.48
#> sleeps    0.01    0.33    0.33    0.01    0.33
#> it        0.03    0.89    0.03    0.03    0.03
#> dreams    0.01    0.33    0.33    0.01    0.33
print(labelled(output, WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.03      0.89      0.03      0.03
#> cat         0.01      0.01      0.48      0.48
#> sleeps      0.01      0.33      0.33      0.33
#> it          0.03      0.89      0.03      0.03
#> dreams      0.01      0.33      0.33      0.33
print(torch.allclose(output, scaled_dot_product_attention(*(x @ w for w in matrices))))
#> True
