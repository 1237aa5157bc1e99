import torch

torch.manual_seed(0)
for d in (4, 64, 1024):
    query = torch.randn(20_000, d, dtype=torch.float64)
    key = torch.randn(20_000, d, dtype=torch.float64)
    scores = (query * key).sum(-1)  # 20,000 dot products
    scaled = scores / d**0.5
    print(f"d = {d:4}  variance {scores.var():7.1f}  after scaling {scaled.var():.2f}")
#> d =    4  variance     4.0  after scaling 1.01
#> d =   64  variance    64.0  after scaling 1.00
#> d = 1024  variance  1024.2  after scaling 1.00
