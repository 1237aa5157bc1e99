import torch

from attn_docs import BilinearAttention, DotProductAttention

torch.manual_seed(0)
query, key = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
attend = BilinearAttention(query_dim=4, key_dim=4).double()
with torch.no_grad():
    attend.weight.copy_(torch.eye(4))

print(attend.divisor == 4**0.5)  # (d · d)^(1/4) is √d
#> True
print(torch.allclose(attend.score(query, key), DotProductAttention().score(query, key)))
#> True
