import torch

from attn_docs import BilinearAttention

torch.manual_seed(0)
attend = BilinearAttention(query_dim=4, key_dim=6).double()
queries, key = torch.randn(3, 4).double(), torch.randn(5, 6).double()

folded = key @ attend.weight.T / attend.divisor  # m q: once, before the first step
for query in queries:  # one query a step
    scores = folded @ query  # m: plain dot products
    print(torch.allclose(scores, attend.score(query[None, None], key[None])[0, 0]))
#> True
#> True
#> True
