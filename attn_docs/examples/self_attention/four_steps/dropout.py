import torch

p = 0.5
scores = torch.tensor([0.0, 2.0, 1.0])  # "sleeps" against the, cat, sleeps
keep = torch.tensor([1.0, 0.0, 1.0])  # a coin for each key: "cat" is dropped

print(torch.softmax(scores, dim=-1))  # nothing dropped
#> tensor([0.0900, 0.6652, 0.2447])
print(torch.softmax(scores, dim=-1) * keep / (1 - p))  # right: a weight is dropped
#> tensor([0.1801, 0.0000, 0.4895])
print(torch.softmax(scores * keep / (1 - p), dim=-1))  # wrong: a score is dropped
#> tensor([0.1065, 0.1065, 0.7870])

# the mean over all eight ways the three coins can fall
coins = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 3)
print((torch.softmax(scores, dim=-1) * coins / (1 - p)).mean(dim=0))
#> tensor([0.0900, 0.6652, 0.2447])
print(torch.softmax(scores * coins / (1 - p), dim=-1).mean(dim=0))
#> tensor([0.1183, 0.5678, 0.3138])
