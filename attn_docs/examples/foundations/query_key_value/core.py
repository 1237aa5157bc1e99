import torch

from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()  # n D: five words, eight features
w_q, w_k, w_v = projections(sharpness=6.0)

query, key, value = x @ w_q, x @ w_k, x @ w_v  # n d, m d, m e
scores = query @ key.T / 3**0.5  # n m: each query with each key, d = 3
weights = torch.softmax(scores, dim=-1)  # n m: each row sums to one
output = weights @ value  # n e: for each word a weighted mean

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
print(torch.allclose(output, scaled_dot_product_attention(query, key, value)))
#> True
