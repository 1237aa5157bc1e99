import torch

scores = torch.tensor([2.0, 0.0, 0.0])
shares = scores.exp() / scores.exp().sum()
print(shares, shares.sum())
#> tensor([0.7870, 0.1065, 0.1065]) tensor(1.)
print(torch.allclose(shares, torch.softmax(scores, dim=0)))
#> True

prices = torch.tensor([10.0, 20.0, 30.0])
print(shares @ prices)  # a mean in which the first counts most
#> tensor(13.1952)
