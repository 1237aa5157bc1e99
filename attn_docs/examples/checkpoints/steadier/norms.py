import torch
from torch import nn

from attn_docs import AcrossHeads, RotaryEmbedding

torch.manual_seed(0)
h, d = 2, 16
query = torch.randn(1, h, 5, d) * torch.tensor([100.0, 1.0]).view(h, 1, 1)  # b h n d

headwise, across = nn.RMSNorm(d), AcrossHeads(nn.RMSNorm(h * d))
for name, norm in {"each head": headwise, "across heads": across}.items():
    lengths = norm(query).norm(dim=-1).mean(dim=(0, 2))  # h
    print(f"{name}: {[round(length, 2) for length in lengths.tolist()]}")
#> each head: [4.0, 4.0]
#> across heads: [5.66, 0.05]

key = torch.randn(1, h, 5, d)
scores = headwise(query) @ headwise(key).mT / d**0.5  # b h n m
print(f"largest score {scores.abs().max().item():.2f}, never above √d = {d**0.5:.2f}")
#> largest score 2.32, never above √d = 4.00

rotate, places = RotaryEmbedding(d).rotate, torch.arange(5)
for name, gain in {"all gains 1": [1.0, 1.0], "gains of a pair 1 and 3": [1.0, 3.0]}.items():
    headwise.weight = nn.Parameter(torch.tensor(gain).repeat_interleave(d // 2))  # d: the halves
    before = rotate(headwise(query), headwise(key), places)[0]
    after = headwise(rotate(query, key, places)[0])
    same = torch.allclose(before, after, atol=1e-5)
    print(f"{name}: the same before the rotation and after it: {same}")
#> all gains 1: the same before the rotation and after it: True
#> gains of a pair 1 and 3: the same before the rotation and after it: False
