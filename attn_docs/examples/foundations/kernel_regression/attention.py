import torch
import torch.nn.functional as F

from attn_docs import GaussianAttention, nadaraya_watson

torch.manual_seed(0)
query, keys, values = (torch.randn(count, dtype=torch.float64) for count in (5, 7, 7))
width = 0.6
ours = nadaraya_watson(query, keys, values, width=width)

# PyTorch's attention: dot products over width², and what depends on the key alone as a mask
bias = -keys.square() / (2 * width**2)  # m
columns = (query[:, None], keys[:, None], values[:, None])  # vectors of one component
theirs = F.scaled_dot_product_attention(*columns, bias.expand(5, 7), scale=1 / width**2)
print(torch.allclose(ours, theirs[:, 0]))
#> True
batch = (column[None] for column in columns)  # b n 1, b m 1, b m 1
print(torch.allclose(ours, GaussianAttention(width)(*batch)[0, :, 0]))
#> True
