import torch

from attn_docs import nadaraya_watson

query = torch.tensor([1.0, 1.9, 2.1])
keys = torch.tensor([0.0, 1.0, 3.0])
values = torch.tensor([2.0, 4.0, 10.0])

for width in (0.01, 0.5, 1.0, 2.0, 1000.0):
    print(width, nadaraya_watson(query, keys, values, width=width))
#> 0.01 tensor([ 4.,  4., 10.])
#> 0.5 tensor([3.7634, 5.8503, 8.1367])
#> 1.0 tensor([3.7698, 6.1397, 6.8575])
#> 2.0 tensor([4.7530, 5.6183, 5.8250])
#> 1000.0 tensor([5.3333, 5.3333, 5.3333])
