import torch

from attn_docs import DotProductAttention, GaussianAttention

x = torch.tensor([[[2.0, 2.0], [6.0, 1.0], [1.0, 1.0]]])  # queries and keys at once

for attend in (DotProductAttention(), GaussianAttention()):
    print(attend.score(x, x)[0].argmax(-1))  # the key that each query likes best
#> tensor([1, 1, 1])
#> tensor([0, 1, 2])
