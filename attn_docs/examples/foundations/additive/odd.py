import torch

from attn_docs import AdditiveAttention, DotProductAttention

torch.manual_seed(0)
query, key = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
additive = AdditiveAttention(query_dim=4, key_dim=4, hidden_dim=8).double()
dot = DotProductAttention()

print(torch.allclose(additive.score(-query, -key), -additive.score(query, key)))
#> True
print(torch.allclose(dot.score(-query, -key), dot.score(query, key)))
#> True
