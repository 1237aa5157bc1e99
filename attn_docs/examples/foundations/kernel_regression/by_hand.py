import torch

query = torch.tensor(2.0)  # where we ask
keys = torch.tensor([0.0, 1.0, 3.0])  # m: where we know the answer
values = torch.tensor([2.0, 4.0, 10.0])  # m: the answers there

scores = -0.5 * (query - keys).square()  # distances 2, 1 and 1; the width is 1
print(scores)
#> tensor([-2.0000, -0.5000, -0.5000])
weights = torch.softmax(scores, dim=0)
print(weights)
#> tensor([0.1004, 0.4498, 0.4498])
print(weights @ values)
#> tensor(6.4982)
