from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import FEATURES, MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=6.0)
w_k[FEATURES.index("pronoun"), 1] = 1.0  # "it" offers itself as a noun

output = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
print(labelled(output[3:], WORDS[3:], MEANINGS))
#>         definite    animal    asleep  dreaming
#> it          0.01      0.48      0.01      0.01
#> dreams      0.01      0.25      0.25      0.25
