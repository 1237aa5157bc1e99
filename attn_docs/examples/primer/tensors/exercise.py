import torch

scores = torch.zeros(4, 2, 5, 5)
real = torch.ones(4, 5)  # for each text, which words count
try:
    scores + real
except RuntimeError as error:
    print(error)
#> The size of tensor a (5) must match the size of tensor b (4) at non-singleton dimension 2

print((scores + real[:, None, None, :]).shape)  # (4, 1, 1, 5)
#> torch.Size([4, 2, 5, 5])
