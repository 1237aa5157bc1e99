import torch
from torch import nn

from attn_docs import RotaryEmbedding

torch.manual_seed(0)
d = 16
query, key = (100 * torch.randn(2, 1, 2, 5, d)).unbind()  # b h n d
rotate, norm, places = RotaryEmbedding(d).rotate, nn.RMSNorm(d), torch.arange(5)

scores = norm(query) @ norm(key).mT / d**0.5  # b h n m
print(f"largest score {scores.abs().max().item():.2f}, never above √d = {d**0.5:.2f}")
#> largest score 2.32, never above √d = 4.00

for name, gain in {"all gains 1": [1.0, 1.0], "gains of a pair 1 and 3": [1.0, 3.0]}.items():
    norm.weight = nn.Parameter(torch.tensor(gain).repeat_interleave(d // 2))  # half by half
    before = rotate(norm(query), norm(key), places)[0]
    after = norm(rotate(query, key, places)[0])
    same = torch.allclose(before, after, atol=1e-5)
    print(f"{name}: the same before the rotation and after it: {same}")
#> all gains 1: the same before the rotation and after it: True
#> gains of a pair 1 and 3: the same before the rotation and after it: False
