from attn_docs import attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()[:3]
w_q, w_k, _ = projections()
key = x @ w_k
key[1] *= 2  # the key of "cat"

print(labelled(attention_weights(x @ w_q, key), WORDS[:3], WORDS[:3], digits=4))
#>            the     cat  sleeps
#> the     0.1933  0.6134  0.1933
#> cat     0.2645  0.2645  0.4711
#> sleeps  0.1679  0.5329  0.2992
