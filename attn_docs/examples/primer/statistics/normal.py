import torch

torch.manual_seed(0)
for size in (4, 64, 1024):
    q, k = torch.randn(2, 10_000, size)  # 10,000 pairs of vectors
    products = (q * k).sum(dim=-1)
    scaled = products / size**0.5
    print(size, f"variance {products.var(correction=0):.0f}", end=", ")
    print(f"std {products.std(correction=0):.1f}", end=", ")
    print(f"divided by the root: {scaled.std(correction=0):.2f}")
#> 4 variance 4, std 2.0, divided by the root: 1.00
#> 64 variance 64, std 8.0, divided by the root: 1.00
#> 1024 variance 1031, std 32.1, divided by the root: 1.00
