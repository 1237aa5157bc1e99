import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8)
bound = attend.score_proj.weight.abs().sum().item()

for size in (1, 100, 10_000):
    scores = attend.score(size * torch.randn(1, 50, 4), size * torch.randn(1, 70, 6))
    print(size, scores.abs().max().item() <= bound + 1e-5)
#> 1 True
#> 100 True
#> 10000 True
