import torch

torch.manual_seed(0)
x = torch.randn(5, 6)
w = torch.randn(6, 4)

shared = (x @ w) @ (x @ w).T  # queries and keys from one matrix
print(torch.allclose(shared, shared.T))
#> True
apart = (x @ w) @ (x @ torch.randn(6, 4)).T
print(torch.allclose(apart, apart.T))
#> False
