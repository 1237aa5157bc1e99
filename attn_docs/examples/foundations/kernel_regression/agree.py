import math

import torch

from attn_docs import nadaraya_watson

torch.manual_seed(0)
query, keys, values = (torch.randn(count, dtype=torch.float64) for count in (5, 7, 7))
width = 0.6

outputs = []
for x in query.tolist():
    top = bottom = 0.0
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        kernel = math.exp(-((x - key) ** 2) / (2 * width**2))
        top += kernel * value
        bottom += kernel
    outputs.append(top / bottom)

ours = nadaraya_watson(query, keys, values, width=width)
print((ours - torch.tensor(outputs, dtype=torch.float64)).abs().max().item() < 1e-12)
#> True
