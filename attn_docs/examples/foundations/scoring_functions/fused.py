import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs import GaussianAttention

torch.manual_seed(0)
query, key, value = (torch.randn(2, 1, n, 8) for n in (5, 7, 7))  # b h n d, b h m d, b h m d
query, key = query + 100, key + 100  # far from the origin: the expanded form's trap
width, factor = 0.7, 20.0

mean = key.mean(-2, keepdim=True)  # b h 1 d
q, k = query - mean, key - mean  # the same differences, near the origin
ones, penalty = torch.ones_like(q[..., :1]), -k.square().sum(-1, keepdim=True) / 2  # … 1
longer = torch.cat((q, ones), -1), torch.cat((k, penalty), -1), F.pad(value, (0, 1))  # … d + 1
unit_query, unit_key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)

with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # a call that would not be fused is an error
    gaussian = F.scaled_dot_product_attention(*longer, scale=1 / width**2)[..., :-1]
    cosine = F.scaled_dot_product_attention(factor * unit_query, unit_key, value, scale=1.0)

query, key, value = query[:, 0], key[:, 0], value[:, 0]  # b n d, b m d, b m d
print(torch.allclose(gaussian[:, 0], GaussianAttention(width)(query, key, value), atol=1e-5))
#> True
angles = F.cosine_similarity(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1)  # b n m
print(torch.allclose(cosine[:, 0], (factor * angles).softmax(-1) @ value, atol=1e-5))
#> True
