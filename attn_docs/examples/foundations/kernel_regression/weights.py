import torch

from attn_docs import nadaraya_watson

query = torch.tensor([1.0, 2.0])
keys = torch.tensor([0.0, 1.0, 3.0])
values = torch.tensor([2.0, 4.0, 10.0])

output, weights = nadaraya_watson(query, keys, values, need_weights=True)
print(weights)  # a row for each query, a column for each key
#> tensor([[0.3482, 0.5741, 0.0777],
#>         [0.1004, 0.4498, 0.4498]])
print(weights.sum(dim=1))
#> tensor([1., 1.])
print(output.equal(weights @ values))
#> True
