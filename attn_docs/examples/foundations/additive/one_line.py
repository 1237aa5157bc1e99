import torch

torch.manual_seed(0)
asked, offered = torch.randn(5, 8), torch.randn(5, 8)  # n p and m p, n = m by chance

print(tuple((asked + offered).shape))  # query i with key i, and no other pair
#> (5, 8)
print(tuple((asked[:, None] + offered[None, :]).shape))  # each query with each key
#> (5, 5, 8)
