import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention

torch.manual_seed(0)
query = torch.randn(2, 3, 5, 4, dtype=torch.float64)  # b h n d
key = torch.randn(2, 3, 7, 4, dtype=torch.float64)  # b h m d
value = torch.randn(2, 3, 7, 6, dtype=torch.float64)  # b h m e

ours = scaled_dot_product_attention(query, key, value)
theirs = F.scaled_dot_product_attention(query, key, value)
print(tuple(ours.shape))
#> (2, 3, 5, 6)
print((ours - theirs).abs().max().item() < 1e-12)
#> True
