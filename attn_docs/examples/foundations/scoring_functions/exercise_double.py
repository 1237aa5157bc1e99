import torch

from attn_docs import DotProductAttention, GaussianAttention

torch.set_printoptions(sci_mode=False)

query = torch.tensor([[[2.0, 2.0]]])
key = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]])  # long, aligned, near

for attend in (DotProductAttention(), GaussianAttention()):
    for factor in (1, 2):
        print(attend(query, factor * key, key, need_weights=True)[1])
#> tensor([[[0.9434, 0.0008, 0.0558]]])
#> tensor([[[0.9965, 0.0000, 0.0035]]])
#> tensor([[[0.0002, 0.3775, 0.6223]]])
#> tensor([[[0.0000, 1.0000, 0.0000]]])
