import torch
from torch.nn.functional import normalize

torch.manual_seed(0)
for d in (8, 512):
    key = torch.randn(6, d)
    query = key[:1] + 0.1 * torch.randn(1, d)  # it looks for the first key
    scores = normalize(query, dim=-1) @ normalize(key, dim=-1).mT  # cosines
    for name, scale in (("1/√d", d**-0.5), ("10", 10.0)):
        weight = (scores * scale).softmax(-1)[0, 0]
        print(f"d = {d:3}  scale {name:4}  weight of the first key {weight:.2f}")
#> d =   8  scale 1/√d  weight of the first key 0.21
#> d =   8  scale 10    weight of the first key 0.99
#> d = 512  scale 1/√d  weight of the first key 0.17
#> d = 512  scale 10    weight of the first key 1.00
