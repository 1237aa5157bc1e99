import torch

from attn_docs import GaussianAttention

torch.manual_seed(0)
query, key, value = (torch.randn(2, 4, n, 8) for n in (5, 7, 7))  # b h n d
output = GaussianAttention()(*(x.flatten(0, 1) for x in (query, key, value)))  # b·h n d
print(tuple(output.unflatten(0, (2, 4)).shape))
#> (2, 4, 5, 8)
