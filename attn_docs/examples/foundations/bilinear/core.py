import torch


def bilinear_attention(query, key, value, weight, divisor):
    scores = query @ weight @ key.mT / divisor  # n D, D D, D m: n m
    return torch.softmax(scores, dim=-1) @ value  # n e


import torch.nn.functional as F

from attn_docs.sentence import KINDS, MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()  # n D
w_q, w_k, w_v = projections(sharpness=6.0)  # D d, D d, D e
weight = w_q @ w_k.T  # D D
print(labelled(weight[:4, :4], KINDS, KINDS, digits=0))
#>             determiner        noun        verb     pronoun
#> determiner           0           6           0           0
#> noun                 0           0           6           0
#> verb                 0           6           6           0
#> pronoun              0           6           0           0
output = bilinear_attention(x, x, x @ w_v, weight, divisor=3**0.5)
print(labelled(output[3:4], WORDS[3:4], MEANINGS))
#>     definite    animal    asleep  dreaming
#> it      0.03      0.89      0.03      0.03
print(torch.allclose(output, F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)))
#> True
