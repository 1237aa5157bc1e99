import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8).double()
query, key = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 6).double()
added = attend.score(query, key)

with torch.no_grad():
    attend.k_proj.weight.neg_()
asked, offered = attend.q_proj(query).unsqueeze(2), attend.k_proj(key).unsqueeze(1)
subtracted = attend.score_proj(torch.tanh(asked - offered)).squeeze(-1)
print(torch.allclose(added, subtracted))
#> True
