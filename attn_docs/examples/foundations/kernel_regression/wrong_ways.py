import torch

from attn_docs import nadaraya_watson

query = torch.tensor([1.0, 1.9, 2.1])
keys = torch.tensor([0.0, 1.0, 3.0])
values = torch.tensor([2.0, 4.0, 10.0])

print(values.mean().expand(3))  # the same, whatever is asked
#> tensor([5.3333, 5.3333, 5.3333])
nearest = (query[:, None] - keys).abs().argmin(dim=1)
print(values[nearest])  # jumps half way between two keys
#> tensor([ 4.,  4., 10.])
print(nadaraya_watson(query, keys, values))
#> tensor([3.7698, 6.1397, 6.8575])
