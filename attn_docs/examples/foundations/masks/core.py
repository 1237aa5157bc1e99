import torch

from attn_docs import attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()  # n D: 5 words, 8 features
w_q, w_k, _ = projections(sharpness=6.0)
query, key = x @ w_q, x @ w_k  # n d
scores = query @ key.T / 3**0.5  # n n: a row is a query, a column a key

may_attend = torch.ones(5, 5, dtype=torch.bool).tril()  # n n: itself and what came before
weights = scores.masked_fill(~may_attend, -torch.inf).softmax(dim=-1)  # n n
print(labelled(weights, WORDS, WORDS))
#>            the     cat  sleeps      it  dreams
#> the       1.00    0.00    0.00    0.00    0.00
#> cat       0.50    0.50    0.00    0.00    0.00
#> sleeps    0.02    0.49    0.49    0.00    0.00
#> it        0.03    0.91    0.03    0.03    0.00
#> dreams    0.01    0.33    0.33    0.01    0.33
print(torch.allclose(weights, attention_weights(query, key, is_causal=True)))
#> True
