import math

import torch

query = torch.tensor([0.0, 1.0, 1.0])  # d: what we look for
key = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # m d
value = torch.tensor([[10.0, 0.0], [0.0, 10.0], [0.0, 20.0]])  # m e

scores = key @ query  # one dot product a key
print(scores)
#> tensor([0., 1., 1.])

scaled = scores / math.sqrt(3)
print(scaled)
#> tensor([0.0000, 0.5774, 0.5774])

weights = torch.softmax(scaled, dim=-1)
print(weights)
#> tensor([0.2192, 0.3904, 0.3904])

output = weights @ value  # 0.2192 of row 1, 0.3904 of row 2, 0.3904 of row 3
print(output)
#> tensor([ 2.1917, 11.7124])
