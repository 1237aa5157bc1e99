import torch
from torch.utils.checkpoint import checkpoint

from attn_docs import AdditiveAttention

torch.manual_seed(0)
attend = AdditiveAttention(query_dim=8, key_dim=8, hidden_dim=16)
query, key, value = torch.randn(1, 100, 8), torch.randn(1, 70, 8), torch.randn(1, 70, 8)

parts = [
    checkpoint(attend, part, key, value, use_reentrant=False)  # keeps no hidden layer
    for part in query.split(16, dim=1)
]
print(torch.allclose(torch.cat(parts, dim=1), attend(query, key, value), atol=1e-6))
#> True
