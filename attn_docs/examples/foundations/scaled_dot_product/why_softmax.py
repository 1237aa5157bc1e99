import torch

scores = torch.tensor([-1.0, 0.0, 2.0])

print(scores / scores.sum())  # not shares: one is negative
#> tensor([-1.,  0.,  2.])
print(torch.softmax(scores, dim=0))
#> tensor([0.0420, 0.1142, 0.8438])
print(torch.softmax(scores + 100, dim=0))  # only differences count
#> tensor([0.0420, 0.1142, 0.8438])
