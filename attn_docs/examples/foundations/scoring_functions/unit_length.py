import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention

torch.manual_seed(0)
d = 16
query = F.normalize(torch.randn(2, 5, d, dtype=torch.float64), dim=-1)
key = F.normalize(torch.randn(2, 7, d, dtype=torch.float64), dim=-1)

dot = query @ key.mT
cosine = F.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
squared_distance = (query[:, :, None] - key[:, None]).square().sum(-1)

print(torch.allclose(dot, cosine), torch.allclose(-squared_distance, 2 * dot - 2))
#> True True
print((dot.argsort() == (-squared_distance).argsort()).all().item())
#> True
by_dot = DotProductAttention()(query, key, key)
by_distance = GaussianAttention(width=d**0.25)(query, key, key)
print(torch.allclose(by_dot, by_distance))
#> True
