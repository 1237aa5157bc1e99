import torch
from torch import nn

norm = nn.RMSNorm(2)  # divides by the root mean square; its gains are 1 at first
key = torch.tensor([4.0, 3.0])
for size in (1, 10, 100):
    query = size * torch.tensor([3.0, 4.0])
    plain, normed = query @ key / 2**0.5, norm(query) @ norm(key) / 2**0.5
    same = [round(value, 2) for value in norm(query).tolist()]
    print(f"{query.tolist()} becomes {same}; score {plain:.0f} becomes {normed:.2f}")
#> [3.0, 4.0] becomes [0.85, 1.13]; score 17 becomes 1.36
#> [30.0, 40.0] becomes [0.85, 1.13]; score 170 becomes 1.36
#> [300.0, 400.0] becomes [0.85, 1.13]; score 1697 becomes 1.36
