import torch

torch.manual_seed(0)
x = torch.randn(5, 64).double()  # n D
w_q, w_k = torch.randn(64, 8).double(), torch.randn(64, 8).double()  # D d each
a = torch.randn(8, 8).double()  # d d, invertible

other_q, other_k = w_q @ a, w_k @ a.inverse().T
print(torch.allclose(other_q, w_q))
#> False
print(torch.allclose(x @ other_q @ (x @ other_k).T, x @ w_q @ (x @ w_k).T))
#> True
print(torch.linalg.matrix_rank(w_q @ w_k.T).item())  # of 64
#> 8
print(w_q.numel() + w_k.numel(), "parameters instead of", 64 * 64)
#> 1024 parameters instead of 4096
