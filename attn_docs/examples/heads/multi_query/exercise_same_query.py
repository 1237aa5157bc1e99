import torch

from attn_docs import MultiQueryAttention

torch.manual_seed(0)
attend = MultiQueryAttention(embed_dim=12, num_heads=3)
with torch.no_grad():
    attend.q_proj.weight.copy_(attend.q_proj.weight[:4].repeat(3, 1))  # head 0's, three times
    attend.q_proj.bias.copy_(attend.q_proj.bias[:4].repeat(3))
_, weights = attend(torch.randn(2, 5, 12), need_weights=True)
print(torch.allclose(weights, weights[:, :1].expand(2, 3, 5, 5), atol=1e-6))
#> True
