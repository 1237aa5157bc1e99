import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8)
query, key, value = torch.randn(1, 5, 4), torch.randn(1, 7, 6), torch.randn(1, 7, 3)

for factor in (1.0, 0.1, 0.01):
    with torch.no_grad():
        torch.manual_seed(0)
        attend.q_proj.weight.normal_().mul_(factor)
        attend.k_proj.weight.normal_().mul_(factor)
        attend.score_proj.weight.normal_().div_(factor)
        weights = attend(query, key, value, need_weights=True)[1][0]
    print(f"{factor:4} {(weights - weights[0]).abs().max():.2f}")
#>  1.0 0.28
#>  0.1 0.02
#> 0.01 0.00
