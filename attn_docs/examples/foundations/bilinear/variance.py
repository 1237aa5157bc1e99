import torch

torch.manual_seed(0)
q, k = 16, 64
query, key = torch.randn(50, 2000, q).double(), torch.randn(50, 2000, k).double()
normal = torch.randn(50, q, k).double()  # 50 matrices, 2000 pairs each

for name, weight in (("small", normal / (q * k) ** 0.25), ("unit", normal)):
    products = torch.einsum("wpq,wqk,wpk->wp", query, weight, key)
    for power, divisor in (("1/4", (q * k) ** 0.25), ("1/2", (q * k) ** 0.5)):
        print(f"{name:5} entries, (d_q d_k)^{power}: variance {(products / divisor).var():.2f}")
#> small entries, (d_q d_k)^1/4: variance 1.01
#> small entries, (d_q d_k)^1/2: variance 0.03
#> unit  entries, (d_q d_k)^1/4: variance 32.20
#> unit  entries, (d_q d_k)^1/2: variance 1.01
plain = torch.einsum("wpq,wqk,wpk->wp", query, normal / (q * k) ** 0.5, key)
print(f"plain entries, no divisor: variance {plain.var():.2f}")
#> plain entries, no divisor: variance 1.01
