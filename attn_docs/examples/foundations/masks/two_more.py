import torch

i, j = torch.arange(5)[:, None], torch.arange(5)  # queries, keys

both_sides = (i - j).abs() <= 1  # one word on each side
print(both_sides.sum(1).tolist())  # how many keys each query sees
#> [2, 3, 3, 3, 2]

length = 4
left_padded = (j <= i) & (j >= 5 - length)  # causal, the padding comes first
print(left_padded.sum(1).tolist())  # the row of the padding is fully masked
#> [0, 1, 2, 3, 4]
