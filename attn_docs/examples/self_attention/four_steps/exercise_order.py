import torch

from attn_docs import ScaledDotProductSelfAttention, causal_mask

torch.manual_seed(0)
attend = ScaledDotProductSelfAttention(embed_dim=6).eval().requires_grad_(False)
x = torch.randn(1, 4, 6)
order = torch.tensor([2, 0, 3, 1])

print(torch.allclose(attend(x[:, order]), attend(x)[:, order], atol=1e-6))
#> True
mask = causal_mask(4)
print(torch.allclose(attend(x[:, order], mask), attend(x, mask)[:, order], atol=1e-6))
#> False
