import torch

scores = torch.tensor([1000.0, 1001.0, 1002.0])
print(scores.exp() / scores.exp().sum())
#> tensor([nan, nan, nan])
print(torch.softmax(scores - scores.max(), dim=0))
#> tensor([0.0900, 0.2447, 0.6652])
