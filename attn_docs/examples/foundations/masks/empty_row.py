import torch
import torch.nn.functional as F

from attn_docs import masked_softmax

scores = torch.tensor([[0.0, 1.0, 2.0]])
value = torch.tensor([[3.0], [6.0], [9.0]])  # their mean is 6
nothing = torch.zeros(1, 3, dtype=torch.bool)
lowest = torch.finfo(scores.dtype).min

for fill in (-torch.inf, -1e9, lowest):
    weights = torch.softmax(scores.masked_fill(~nothing, fill), dim=-1)
    print(f"{fill:.0e}", weights, (weights @ value).item())
#> -inf tensor([[nan, nan, nan]]) nan
#> -1e+09 tensor([[0.3333, 0.3333, 0.3333]]) 6.0
#> -3e+38 tensor([[0.3333, 0.3333, 0.3333]]) 6.0
print("ours", (masked_softmax(scores, nothing) @ value).item())
#> ours 0.0

query, key = torch.ones(1, 1), scores.T  # the same scores in PyTorch's function
for mask in (nothing, torch.full((1, 3), -torch.inf), torch.full((1, 3), lowest)):
    print(mask.dtype, F.scaled_dot_product_attention(query, key, value, mask).item())
#> torch.bool 0.0
#> torch.float32 0.0
#> torch.float32 6.0
