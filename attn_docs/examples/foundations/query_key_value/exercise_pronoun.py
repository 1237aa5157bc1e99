from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import FEATURES, MEANINGS, WORDS, embeddings, labelled, projections


def take(x, w_q, w_k, w_v):
    return scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)


x = embeddings()
before = projections(sharpness=6.0)
w_q, w_k, w_v = projections(sharpness=6.0)
w_k[FEATURES.index("pronoun"), 1] = 1.0  # "it" offers itself as a noun

print(labelled(take(x, w_q, w_k, w_v)[3:], WORDS[3:], MEANINGS))
#>         definite    animal    asleep  dreaming
#> it          0.01      0.48      0.01      0.01
#> dreams      0.01      0.25      0.25      0.25
x[:, 4:] += take(x, *before)  # first of two layers: its output is added
print(labelled(take(x, w_q, w_k, w_v)[3:], WORDS[3:], MEANINGS))  # the second
#>         definite    animal    asleep  dreaming
#> it          0.04      0.93      0.27      0.27
#> dreams      0.02      0.64      0.54      0.54
