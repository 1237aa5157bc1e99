import torch

from attn_docs import DotProductAttention, GaussianAttention

torch.set_printoptions(sci_mode=False)

query = torch.tensor([[[2.0, 2.0]]])  # b n d
key = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]])  # b m d: long, aligned, near
value = torch.tensor([[[10.0], [20.0], [30.0]]])  # b m e

for attend in (DotProductAttention(), GaussianAttention(width=1.0)):
    output, weights = attend(query, key, value, need_weights=True)
    print(weights, f"{output.item():.2f}")
#> tensor([[[0.9434, 0.0008, 0.0558]]]) 11.12
#> tensor([[[0.0002, 0.3775, 0.6223]]]) 26.22
