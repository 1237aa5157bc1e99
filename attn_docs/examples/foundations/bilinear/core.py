import torch

from attn_docs import BilinearAttention
from attn_docs.sentence import KINDS, WORDS, embeddings, labelled, projections

x = embeddings()  # n D
w_q, w_k, _ = projections()  # D d each
w = w_q @ w_k.T  # D D: what a feature of one word is worth beside a feature of another
print(labelled(w[:4, :4], KINDS, KINDS, digits=0))
#>             determiner        noun        verb     pronoun
#> determiner           0           1           0           0
#> noun                 0           0           1           0
#> verb                 0           1           1           0
#> pronoun              0           1           0           0

scores = x @ w @ x.T  # n n, without queries or keys
print(labelled(scores[3:4], WORDS[3:4], WORDS, digits=0))
#>        the     cat  sleeps      it  dreams
#> it       0       1       0       0       0
print(torch.equal(scores, (x @ w_q) @ (x @ w_k).T))
#> True

attend = BilinearAttention(query_dim=8, key_dim=8)
attend.load_state_dict({"weight": w})
print(torch.allclose(attend.score(x[None], x[None])[0] * attend.divisor, scores))
#> True
