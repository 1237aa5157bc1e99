import torch

torch.manual_seed(0)
w_q, w_k = torch.randn(64, 8).double(), torch.randn(64, 8).double()  # D d each
w = w_q @ w_k.T  # D D
print(w_q.numel() + w_k.numel(), "parameters instead of", w.numel())
#> 1024 parameters instead of 4096
print("rank", torch.linalg.matrix_rank(w).item(), "of 64")
#> rank 8 of 64
