import torch


def shown(weights):
    return " ".join(f"{weight:.2f}" for weight in weights.tolist())


torch.manual_seed(0)
for d in (8, 512):
    query, keys = torch.randn(d), torch.randn(6, d)
    scores = keys @ query
    print(f"d = {d:3}  no division: {shown(scores.softmax(0))}")
    print(f"         by √d:       {shown((scores / d**0.5).softmax(0))}")
#> d =   8  no division: 0.25 0.01 0.18 0.00 0.01 0.55
#>          by √d:       0.25 0.09 0.22 0.03 0.08 0.33
#> d = 512  no division: 0.00 0.00 0.00 0.00 0.00 1.00
#>          by √d:       0.03 0.04 0.04 0.10 0.31 0.48

torch.manual_seed(0)
query, keys = torch.randn(5000, 1, 512), torch.randn(5000, 6, 512)
largest = (query @ keys.mT).softmax(-1).amax(-1)
print(f"d = 512, no division: one key has nearly all for {(largest > 0.99).double().mean():.0%}")
#> d = 512, no division: one key has nearly all for 75%
