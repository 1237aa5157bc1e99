import torch

scores = torch.zeros(4, 2, 5, 5)
real = torch.ones(4, 5, dtype=torch.bool)  # for each text, which words count
try:
    scores.masked_fill(~real, -torch.inf)
except RuntimeError as error:
    print(error)
#> The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 2

print(scores.masked_fill(~real[:, None, None, :], -torch.inf).shape)  # (4, 1, 1, 5)
#> torch.Size([4, 2, 5, 5])
