import torch

from attn_docs import AdditiveAttention

attend = AdditiveAttention(query_dim=20, key_dim=2, hidden_dim=8, dropout=0.1).eval()
query = torch.randn(2, 3, 20)  # b n q
key, value = torch.randn(2, 10, 2), torch.randn(2, 10, 4)  # b m k, b m e

asked = attend.q_proj(query).unsqueeze(2)
offered = attend.k_proj(key).unsqueeze(1)
hidden = torch.tanh(asked + offered)
scores = attend.score_proj(hidden).squeeze(-1)
output, weights = attend(query, key, value, need_weights=True)
for name in ("asked", "offered", "hidden", "scores", "weights", "output"):
    print(f"{name:8} {tuple(globals()[name].shape)}")
#> asked    (2, 3, 1, 8)
#> offered  (2, 1, 10, 8)
#> hidden   (2, 3, 10, 8)
#> scores   (2, 3, 10)
#> weights  (2, 3, 10)
#> output   (2, 3, 4)
print(torch.allclose(torch.softmax(scores, dim=-1), weights))
#> True

count = sum(p.numel() for p in attend.parameters())
assert count == 8 * (1 + 20 + 2)
print(count)
#> 184
