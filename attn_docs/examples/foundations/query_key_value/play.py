from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import FEATURES, MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
x[4, FEATURES.index("noun")] = 1.0  # edit me: "dreams" is a noun as well
output = scaled_dot_product_attention(*(x @ w for w in projections(sharpness=6.0)))
print(labelled(output[3:4], WORDS[3:4], MEANINGS))
#>     definite    animal    asleep  dreaming
#> it      0.01      0.48      0.01      0.48
