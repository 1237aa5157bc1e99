import torch

from attn_docs.exhibits.foundations import additive_without_tanh

torch.manual_seed(0)
query, key = torch.randn(2, 4), torch.randn(3, 5)  # n q, m k
w_q, w_k, u = torch.randn(6, 4), torch.randn(6, 5), torch.randn(6)

weights = additive_without_tanh.attention(query, key, torch.eye(3), w_q, w_k, u)
print(weights)  # two queries that have nothing in common, and the same weights
#> tensor([[0.5272, 0.4702, 0.0026],
#>         [0.5272, 0.4702, 0.0026]])
scores = torch.tanh((query @ w_q.T)[:, None] + key @ w_k.T) @ u
print(torch.softmax(scores, dim=-1))
#> tensor([[0.2633, 0.3373, 0.3994],
#>         [0.6518, 0.2928, 0.0554]])
