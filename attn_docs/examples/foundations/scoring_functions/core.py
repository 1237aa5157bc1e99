import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention
from attn_docs.sentence import labelled

query = torch.tensor([[2.0, 2.0]])  # n d
key = torch.tensor([[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]])  # m d

dot = query @ key.T  # n m
cosine = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).T  # n m
gaussian = -(query[:, None] - key).square().sum(-1) / 2  # n m
scores = torch.cat([dot, cosine, gaussian])
print(labelled(scores, ["dot", "cosine", "Gaussian"], ["long", "aligned", "near"]))
#>              long  aligned     near
#> dot         14.00     4.00    10.00
#> cosine       0.81     1.00     0.98
#> Gaussian    -8.50    -1.00    -0.50

print(torch.allclose(DotProductAttention().score(query[None], key[None])[0], dot / 2**0.5))
#> True
print(torch.allclose(GaussianAttention(width=1.0).score(query[None], key[None])[0], gaussian))
#> True
