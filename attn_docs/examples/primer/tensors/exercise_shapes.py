import torch

x, w = torch.zeros(4, 5, 8), torch.zeros(8, 3)
print(x[:, 0].shape, x.sum(dim=-1).shape)
#> torch.Size([4, 8]) torch.Size([4, 5])
print(x.transpose(-2, -1).shape, (x @ w).shape)
#> torch.Size([4, 8, 5]) torch.Size([4, 5, 3])
