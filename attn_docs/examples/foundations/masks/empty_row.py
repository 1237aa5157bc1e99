import torch

from attn_docs import masked_softmax

scores = torch.tensor([[0.0, 1.0, 2.0]])
value = torch.tensor([[3.0], [6.0], [9.0]])  # their mean is 6
nothing = torch.zeros(1, 3, dtype=torch.bool)

for fill in (-torch.inf, -1e9, -1e20, torch.finfo(torch.float32).min):
    weights = torch.softmax(scores.masked_fill(~nothing, fill), dim=-1)
    print(f"{fill:.0e}", weights, (weights @ value).item())
#> -inf tensor([[nan, nan, nan]]) nan
#> -1e+09 tensor([[0.3333, 0.3333, 0.3333]]) 6.0
#> -1e+20 tensor([[0.3333, 0.3333, 0.3333]]) 6.0
#> -3e+38 tensor([[0.3333, 0.3333, 0.3333]]) 6.0

weights = masked_softmax(scores, nothing)
print("ours", weights, (weights @ value).item())
#> ours tensor([[0., 0., 0.]]) 0.0
