import torch

weights = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]])  # n m
value = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]])  # m e

second = 0.1 * value[0] + 0.8 * value[1] + 0.1 * value[2]
print(second)

print(weights @ value)  # all rows at once
