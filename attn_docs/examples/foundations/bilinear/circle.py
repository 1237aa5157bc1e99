import math

import torch

words = 16
angle = 2 * math.pi * torch.arange(words) / words
key = torch.stack([angle.cos(), angle.sin()], dim=-1)  # m 2: the words on a circle
query = key.roll(-1, dims=0)  # n 2: each word points to where the next one lies
for factor in (1, 8, 64):
    weights = torch.softmax(factor * query @ key.T, dim=-1)
    print(f"scores up to {factor:2}: the next word gets {weights.diagonal(1).min():.2f}")
#> scores up to  1: the next word gets 0.13
#> scores up to  8: the next word gets 0.44
#> scores up to 64: the next word gets 0.98

table = torch.rand(words, words, generator=torch.Generator().manual_seed(0)).softmax(-1)
logs = table.log() - table.log().mean(-1, keepdim=True)  # the scores
print("a table at random needs d =", torch.linalg.matrix_rank(logs).item())
#> a table at random needs d = 15
