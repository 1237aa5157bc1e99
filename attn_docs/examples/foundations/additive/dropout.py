import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=2, key_dim=3, hidden_dim=4, dropout=0.5)
attend.requires_grad_(False)
query, key, value = torch.zeros(1, 1, 2), torch.zeros(1, 4, 3), torch.ones(1, 4, 1)

print(attend(query, key, value, need_weights=True)[1])  # training: some zero, others doubled
#> tensor([[[0.5000, 0.0000, 0.5000, 0.5000]]])
print(attend.eval()(query, key, value, need_weights=True)[1])
#> tensor([[[0.2500, 0.2500, 0.2500, 0.2500]]])
