import torch
import torch.nn.functional as F

from attn_docs import GaussianAttention

torch.manual_seed(0)
query = torch.randn(2, 5, 4, dtype=torch.float64)  # b n d
key = torch.randn(2, 7, 4, dtype=torch.float64)  # b m d
value = torch.randn(2, 7, 6, dtype=torch.float64)  # b m e
unit = F.normalize(key, dim=-1)  # every key of length 1
width = 4**0.25  # so that width² = √d

for name, k in (("keys of length 1", unit), ("keys of any length", key)):
    gaussian = GaussianAttention(width)(query, k, value)
    scaled = F.scaled_dot_product_attention(query, k, value)
    print(name, torch.allclose(gaussian, scaled))
#> keys of length 1 True
#> keys of any length False
