from attn_docs import causal_mask, document_ids, document_mask, scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x, (w_q, w_k, w_v) = embeddings(), projections(sharpness=6.0)
query, key, value = x @ w_q, x @ w_k, x @ w_v
causal = causal_mask(5)
own = document_mask(document_ids([3, 2]))  # "the cat sleeps", "it dreams"
for name, mask in (("causal alone", causal), ("and the document mask", causal & own)):
    output = scaled_dot_product_attention(query, key, value, mask)
    print(name)
    print(labelled(output[3:], WORDS[3:], MEANINGS))
#> causal alone
#>         definite    animal    asleep  dreaming
#> it          0.03      0.91      0.03      0.00
#> dreams      0.01      0.33      0.33      0.33
#> and the document mask
#>         definite    animal    asleep  dreaming
#> it          0.00      0.00      0.00      0.00
#> dreams      0.00      0.00      0.00      0.97
