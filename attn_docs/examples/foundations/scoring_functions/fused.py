import torch
import torch.nn.functional as F

from attn_docs import GaussianAttention

torch.manual_seed(0)
query, key, value = (torch.randn(2, n, 8) for n in (5, 7, 7))  # b n d, b m d, b m d
width, factor = 0.7, 20.0

penalty = -key.square().sum(-1).unsqueeze(-2) / (2 * width**2)  # b 1 m
gaussian = F.scaled_dot_product_attention(query, key, value, penalty, scale=1 / width**2)
print(torch.allclose(gaussian, GaussianAttention(width)(query, key, value), atol=1e-5))
#> True

unit_query, unit_key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
cosine = F.scaled_dot_product_attention(factor * unit_query, unit_key, value, scale=1.0)
angles = F.cosine_similarity(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1)  # b n m
print(torch.allclose(cosine, (factor * angles).softmax(-1) @ value, atol=1e-5))
#> True
