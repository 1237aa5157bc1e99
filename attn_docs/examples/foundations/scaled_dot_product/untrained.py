import torch
from torch.nn.functional import linear

from attn_docs import SelfAttention

torch.manual_seed(0)
print("   d  SelfAttention  torch.nn.MultiheadAttention")
#>    d  SelfAttention  torch.nn.MultiheadAttention
for d in (64, 512):
    x = torch.randn(16, 64, d)  # b n d, each number with variance 1
    ours, theirs = SelfAttention(d, d), torch.nn.MultiheadAttention(d, num_heads=1)
    fused = linear(x, theirs.in_proj_weight, theirs.in_proj_bias)
    stds = []
    for query, key in ((ours.q_proj(x), ours.k_proj(x)), fused.chunk(3, -1)[:2]):
        stds.append((query @ key.mT / d**0.5).std().item())
    print(f"{d:4}  {stds[0]:13.2f}  {stds[1]:27.2f}")
#>   64           0.34                         0.50
#>  512           0.33                         0.50
