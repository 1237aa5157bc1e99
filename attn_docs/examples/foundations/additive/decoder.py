import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8)
key, value = torch.randn(1, 7, 6), torch.randn(1, 7, 3)

offered = attend.k_proj(key)  # b m p, once
for _ in range(3):
    query = torch.randn(1, 1, 4)  # the decoder's state, a new one each step
    hidden = torch.tanh(attend.q_proj(query) + offered)  # b m p: one query broadcasts
    scores = attend.score_proj(hidden).mT  # b 1 m
    output = scores.softmax(dim=-1) @ value  # b 1 e
    print(torch.allclose(output, attend(query, key, value), atol=1e-6))
#> True
#> True
#> True
