import torch


def masked_weights(query, key, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5  # … n m: a row is a query, a column a key
    scores = scores.masked_fill(~mask, -torch.inf)  # True may attend
    return scores.softmax(dim=-1)  # … n m: zero where forbidden


causal = torch.ones(5, 5, dtype=torch.bool).tril()  # n m: itself and what came before


from attn_docs import attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled, projections

query, key, _ = (embeddings() @ w for w in projections(sharpness=6.0))  # n d, m d
weights = masked_weights(query, key, causal)
print(labelled(weights, WORDS, WORDS))
#>            the     cat  sleeps      it  dreams
#> the       1.00    0.00    0.00    0.00    0.00
#> cat       0.50    0.50    0.00    0.00    0.00
#> sleeps    0.02    0.49    0.49    0.00    0.00
#> it        0.03    0.91    0.03    0.03    0.00
#> dreams    0.01    0.33    0.33    0.01    0.33
print(torch.allclose(weights, attention_weights(query, key, is_causal=True)))
#> True
