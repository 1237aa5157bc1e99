import torch

weights = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]])
value = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]])  # a value a row

second = 0.1 * value[0] + 0.8 * value[1] + 0.1 * value[2]
print(second)
#> tensor([0.1500, 0.8500, 0.3700])

print(weights @ value)  # all three rows of weights at once
#> tensor([[0.4500, 0.5500, 0.5900],
#>         [0.1500, 0.8500, 0.3700],
#>         [0.4500, 0.5500, 0.5100]])
