import math

import torch

torch.manual_seed(0)
n, d = 6, 4
query, key, value = torch.randn(3, n, d, dtype=torch.float64).unbind()  # n d each
moved = torch.eye(n, dtype=torch.float64)[[3, 0, 4, 1, 2, 5]]  # n n: the permutation


def attend(query, key, value):  # no mask
    weights = (query @ key.T / math.sqrt(d)).softmax(dim=-1)  # n n
    return weights @ value  # n d


output = attend(moved @ query, moved @ key, moved @ value)  # n d
print(torch.allclose(output, moved @ attend(query, key, value)))
#> True

scores = key @ query[-1] / math.sqrt(d)  # n: the last query sees all keys
powers = scores.exp()  # n
last = powers @ value / powers.sum()  # d
print(torch.allclose(last, (moved @ powers) @ (moved @ value) / (moved @ powers).sum()))
#> True

first = torch.eye(n)[0]  # n: 1 for the first token, 0 for the others
counter = first.cumsum(0) / torch.arange(1, n + 1)  # n: equal weights, a mean of all so far
print(counter)
#> tensor([1.0000, 0.5000, 0.3333, 0.2500, 0.2000, 0.1667])
