import torch

torch.manual_seed(0)
q, k = 32, 48
query, key = torch.randn(50, 2000, q).double(), torch.randn(50, 2000, k).double()
weight = torch.rand(50, q, k).double() * 2 - 1  # uniform in [-1, 1]: variance 1/3
products = torch.einsum("wpq,wqk,wpk->wp", query, weight, key)
print(f"{(products / (q * k / 3) ** 0.5).var():.1f}")
#> 1.0
