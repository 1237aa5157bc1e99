import torch

torch.manual_seed(0)
for d in (4, 64, 1024):
    query = torch.randn(20_000, d, dtype=torch.float64)
    key = torch.randn(20_000, d, dtype=torch.float64)
    scores = (query * key).sum(-1)  # 20,000 dot products
    print(f"d = {d:4}  variance {scores.var():7.1f}  after scaling {(scores / d**0.5).var():.2f}")
