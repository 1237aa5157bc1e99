import torch

scores = torch.tensor([4.0, 3.0, 3.0, 1.0])
lse = torch.logsumexp(scores, dim=-1)
print(lse)  # a little above the largest score

weights = torch.exp(scores - lse)
print(weights, torch.softmax(scores, dim=-1))

left, right = scores[:2].logsumexp(-1), scores[2:].logsumexp(-1)
print(torch.exp(left - lse), weights[:2].sum())  # what the first two take together
print(torch.logsumexp(torch.stack([left, right]), dim=-1))
