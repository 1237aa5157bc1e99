import torch

scores = torch.tensor([4.0, 3.0, 3.0, 1.0])
lse = torch.logsumexp(scores, dim=-1)
print(lse)  # a little above the largest score
#> tensor(4.5797)

weights = torch.exp(scores - lse)
print(weights, torch.softmax(scores, dim=-1))
#> tensor([0.5601, 0.2060, 0.2060, 0.0279]) tensor([0.5601, 0.2060, 0.2060, 0.0279])

left, right = scores[:2].logsumexp(-1), scores[2:].logsumexp(-1)
print(torch.exp(left - lse), weights[:2].sum())  # what the first two take together
#> tensor(0.7661) tensor(0.7661)
print(torch.logsumexp(torch.stack([left, right]), dim=-1))
#> tensor(4.5797)
