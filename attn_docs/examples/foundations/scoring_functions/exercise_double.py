import torch

from attn_docs import DotProductAttention, GaussianAttention

torch.set_printoptions(sci_mode=False)

query = torch.tensor([[[2.0, 2.0]]])
key = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]])  # the, cat, sleeps

for attend in (DotProductAttention(), GaussianAttention()):
    for factor in (1, 2):
        print(attend(query, factor * key, key, need_weights=True)[1])
#>
