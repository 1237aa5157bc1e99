import torch
import torch.nn.functional as F

torch.manual_seed(0)
query, key = (torch.randn(1000, 16, dtype=torch.float64) for _ in range(2))  # n d, m d
value = torch.randn(1000, 16, dtype=torch.float64)  # m e
q, k = (F.elu(x) + 1 for x in (query, key))  # φ: a feature map, every component positive

kernel = q @ k.T  # n m: K(q, k) = φ(q) · φ(k)
by_pairs = kernel @ value / kernel.sum(1, keepdim=True)  # n e: kernel regression

memory, total = k.T @ value, k.sum(0)  # d e, d: sums over the keys, made once
by_sums = q @ memory / (q @ total)[:, None]  # n e

print(torch.allclose(by_pairs, by_sums))
#> True
print(f"{kernel.numel():,} numbers, or {memory.numel() + total.numel()}")
#> 1,000,000 numbers, or 272
