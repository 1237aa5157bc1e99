import torch

from attn_docs import differential_attention
from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()  # m D
w_q, w_k, _ = projections(sharpness=3.0)
q, k = x[3:4] @ w_q, x @ w_k  # "it" looks for a noun
query = torch.stack([q, 0 * q])[None]  # b 2h n d: the second head looks for nothing
key = torch.stack([k, k])[None]  # b 2h m d
identity = torch.eye(5)[None, None]  # b h m e: as values, it shows the weights
rows = [differential_attention(query, key, identity, lam=lam)[0, 0] for lam in (0.0, 0.5, 0.8)]
print(labelled(torch.cat(rows), ["λ = 0", "λ = 0.5", "λ = 0.8"], WORDS))
#>             the     cat  sleeps      it  dreams
#> λ = 0      0.10    0.59    0.10    0.10    0.10
#> λ = 0.5    0.00    0.49    0.00    0.00    0.00
#> λ = 0.8   -0.06    0.43   -0.06   -0.06   -0.06
