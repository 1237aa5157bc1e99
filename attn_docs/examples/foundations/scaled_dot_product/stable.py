import torch

scores = torch.tensor([100.0, 101.0, 103.0])

powers = torch.exp(scores)
print(powers / powers.sum())  # inf / inf
#> tensor([nan, nan, nan])

powers = torch.exp(scores - scores.max())  # the largest power is 1
print(powers / powers.sum())
#> tensor([0.0420, 0.1142, 0.8438])
print(torch.softmax(scores, dim=0))
#> tensor([0.0420, 0.1142, 0.8438])
