import torch
import torch.nn.functional as F

x = torch.randn(2, 5, 8)  # b n d
mask = torch.ones(5, 5, dtype=torch.bool)
heads = x.unsqueeze(1)  # b h n d, with h = 1

F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask, is_causal=True)  # accepted
try:
    F.scaled_dot_product_attention(x, x, x, attn_mask=mask, is_causal=True)
except RuntimeError:
    print("refused")
#> refused
