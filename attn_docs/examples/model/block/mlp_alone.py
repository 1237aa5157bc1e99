import torch

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP

x = torch.randn(1, 5, 12)  # b n D
changed = x.clone()
changed[:, 1] = torch.randn(12)  # another token 1

for part in (MultiHeadAttention(12, 3), MLP(12)):
    moved = (part(changed) - part(x)).abs().amax(-1)[0]  # n
    print(type(part).__name__, (moved > 1e-6).tolist())
#> MultiHeadAttention [True, True, True, True, True]
#> MLP [False, True, False, False, False]
