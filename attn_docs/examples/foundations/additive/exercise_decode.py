import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8).double()
queries, key = torch.randn(3, 4).double(), torch.randn(5, 6).double()

offered = attend.k_proj(key)  # m p: once, before the first step
for query in queries:  # one query a step
    scores = attend.score_proj(torch.tanh(attend.q_proj(query) + offered)).squeeze(-1)  # m
    print(torch.allclose(scores, attend.score(query[None, None], key[None])[0, 0]))
#> True
#> True
#> True
