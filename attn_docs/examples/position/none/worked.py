from attn_docs import scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

w_q, w_k, w_v = projections(sharpness=6.0)
for order in ([0, 1, 2, 3, 4], [4, 3, 0, 2, 1]):
    x = embeddings()[order]  # n 8
    output = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)  # n 4
    print(labelled(output, [WORDS[i] for i in order], MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.03      0.89      0.03      0.03
#> cat         0.01      0.01      0.48      0.48
#> sleeps      0.01      0.33      0.33      0.33
#> it          0.03      0.89      0.03      0.03
#> dreams      0.01      0.33      0.33      0.33
#>         definite    animal    asleep  dreaming
#> dreams      0.01      0.33      0.33      0.33
#> it          0.03      0.89      0.03      0.03
#> the         0.03      0.89      0.03      0.03
#> sleeps      0.01      0.33      0.33      0.33
#> cat         0.01      0.01      0.48      0.48
