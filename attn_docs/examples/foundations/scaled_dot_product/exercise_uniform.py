import torch

torch.manual_seed(0)
d = 90
# uniform in [-1, 1]: variance 1/3
query = torch.rand(50_000, d, dtype=torch.float64) * 2 - 1
key = torch.rand(50_000, d, dtype=torch.float64) * 2 - 1
scores = (query * key).sum(-1)

print(f"{scores.var():.1f}")  # d · 1/3 · 1/3
#> 10.0
print(f"{(scores / (d / 9) ** 0.5).var():.2f}")  # so the divisor is √(d/9), not √d
#> 1.00
