import torch

torch.manual_seed(3)
query, key = torch.randn(4, 6), torch.randn(5, 6)  # n q, m k
w_q, w_k, u = torch.randn(8, 6), torch.randn(8, 6), torch.randn(8) / 8

pairs = (query @ w_q.T)[:, None] + key @ w_k.T  # n m p
weights = torch.softmax(torch.tanh(pairs) @ u, dim=-1)  # n m
print("all rows alike:", torch.allclose(weights, weights[:1].expand(4, 5)))
#> all rows alike: False
print(weights.argsort(dim=-1, descending=True))  # the keys, best first, for each query
#> tensor([[3, 1, 4, 2, 0],
#>         [1, 2, 3, 4, 0],
#>         [2, 3, 4, 0, 1],
#>         [3, 4, 1, 0, 2]])
