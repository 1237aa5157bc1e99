import torch
import torch.nn.functional as F

from attn_docs import ScaledDotProductSelfAttention

torch.manual_seed(0)
attend = ScaledDotProductSelfAttention(embed_dim=6).double().eval()
x = torch.randn(2, 5, 6, dtype=torch.float64)

query, key, value = attend.qkv_proj(x).chunk(3, dim=-1)
merged = F.linear(value, attend.out_proj.weight)  # the values go through W_O first
output = F.scaled_dot_product_attention(query, key, merged) + attend.out_proj.bias
print((output - attend(x)).abs().max().item() < 1e-12)
#> True
