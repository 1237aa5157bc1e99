import torch

from attn_docs import GroupedQueryAttention, flash_attention
from attn_docs.testing import check_module

layer = GroupedQueryAttention(64, 8, 2, attend=flash_attention)
x = torch.randn(2, 100, 64)
layer(x, is_causal=True).sum().backward()
print(layer.q_proj.weight.grad.isfinite().all().item())
#> True
print(check_module(layer, embed_dim=64).verdict)
#> passed
