import torch

from attn_docs.sentence import KINDS, labelled, projections

w_q, w_k, _ = projections()
w = w_q @ w_k.T
both_ways, one_way = (w + w.T) / 2, (w - w.T) / 2
print(torch.equal(both_ways + one_way, w))
#> True
print(labelled(one_way[:4, :4], KINDS, KINDS, digits=1))
#>             determiner        noun        verb     pronoun
#> determiner         0.0         0.5         0.0         0.0
#> noun              -0.5         0.0         0.0        -0.5
#> verb               0.0         0.0         0.0         0.0
#> pronoun            0.0         0.5         0.0         0.0
