import torch

x, y = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 10.0])  # m
query = torch.tensor([1.0, 2.5, 5.0])  # n

counts = ((query[:, None] - x).abs() < 1.2).float()  # n m: 1 near by, 0 elsewhere
print(counts @ y / counts.sum(1))
#> tensor([ 3., 10., nan])
gaussian = torch.softmax(-0.5 * (query[:, None] - x) ** 2, dim=1)
print(gaussian @ y)
#> tensor([3.7698, 8.1621, 9.9849])
