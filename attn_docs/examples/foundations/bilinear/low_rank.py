import torch

torch.manual_seed(0)
x, y = torch.randn(3, 64).double(), torch.randn(5, 64).double()  # n D, m D
w_q, w_k = torch.randn(64, 8).double(), torch.randn(64, 8).double()  # D d each

projected = (x @ w_q) @ (y @ w_k).T  # dot products of queries and keys
weight = w_q @ w_k.T  # D D
print(torch.allclose(projected, x @ weight @ y.T))
#> True
print(torch.linalg.matrix_rank(weight).item())  # of 64
#> 8
print(w_q.numel() + w_k.numel(), weight.numel())
#> 1024 4096
