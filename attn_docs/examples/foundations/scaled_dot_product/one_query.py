import math

import torch

query = torch.tensor([0.0, 1.0, 1.0])  # d: what we look for
key = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # m d
value = torch.tensor([[10.0, 0.0], [0.0, 10.0], [0.0, 20.0]])  # m e

scores = key @ query  # one dot product a key
print(scores)

scaled = scores / math.sqrt(3)
print(scaled)

weights = torch.softmax(scaled, dim=-1)
print(weights)

output = weights @ value  # 0.2192 of row 1, 0.3904 of row 2, 0.3904 of row 3
print(output)
