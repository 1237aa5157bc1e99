import torch


def self_attention(x, w_q, w_k, w_v, w_o):
    query, key, value = x @ w_q, x @ w_k, x @ w_v  # n d, n d, n e
    weights = torch.softmax(query @ key.mT / query.size(-1) ** 0.5, dim=-1)  # n n
    return weights @ value @ w_o  # n D: as wide as x


from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import FEATURES, WORDS, embeddings, labelled, projections

x = embeddings()  # n D: 5 words, 8 features
w_q, w_k, w_v = projections(sharpness=6.0)  # D d, D d, D e
w_o = w_v.T  # e D: each meaning goes back to its own column
output = self_attention(x, w_q, w_k, w_v, w_o)
print(labelled((x + output).T, FEATURES, WORDS))
#>                the     cat  sleeps      it  dreams
#> determiner    1.00    0.00    0.00    0.00    0.00
#> noun          0.00    1.00    0.00    0.00    0.00
#> verb          0.00    0.00    1.00    0.00    1.00
#> pronoun       0.00    0.00    0.00    1.00    0.00
#> definite      1.03    0.01    0.01    0.03    0.01
#> animal        0.89    1.01    0.33    0.89    0.33
#> asleep        0.03    0.48    1.33    0.03    0.33
#> dreaming      0.03    0.48    0.33    0.03    1.33
mixed = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
print(torch.allclose(output, mixed @ w_o))
#> True
