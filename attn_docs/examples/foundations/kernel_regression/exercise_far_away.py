import torch

from attn_docs import nadaraya_watson

keys = torch.arange(5.0)  # 0 to 4
values = 2 * keys + 1  # a straight line, without any noise

query = torch.tensor([0.0, 2.0, 4.0, 10.0])
print(2 * query + 1)
#> tensor([ 1.,  5.,  9., 21.])
print(nadaraya_watson(query, keys, values, width=0.5))
#> tensor([1.2395, 5.0000, 8.7605, 9.0000])
