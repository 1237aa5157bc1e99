import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
layer = MultiHeadAttention(embed_dim=12, num_heads=3).requires_grad_(False)
x = torch.randn(2, 5, 12)
before, weights = layer(x, need_weights=True)

rows = torch.arange(12).view(3, 4)[[2, 0, 1]].flatten()  # head 3 first, then heads 1 and 2
for projection in (layer.q_proj, layer.k_proj, layer.v_proj):
    projection.weight.copy_(projection.weight[rows])
    projection.bias.copy_(projection.bias[rows])
layer.out_proj.weight.copy_(layer.out_proj.weight[:, rows])

after, moved = layer(x, need_weights=True)
print(torch.allclose(after, before, atol=1e-6))
#> True
print(torch.allclose(moved, weights[:, [2, 0, 1]], atol=1e-6))
#> True
