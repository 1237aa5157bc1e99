import torch

from attn_docs import MultiHeadAttention, MultiQueryAttention, padding_mask

torch.manual_seed(0)
attend = MultiQueryAttention(embed_dim=12, num_heads=3)
x = torch.randn(2, 5, 12)
print(tuple(attend.q_proj.weight.shape), tuple(attend.k_proj.weight.shape))
#> (12, 12) (4, 12)
output, weights = attend(x, need_weights=True)
print(tuple(output.shape), tuple(weights.shape))  # the weights are still one map a head
#> (2, 5, 12) (2, 3, 5, 5)
print(weights[1, :, 0].detach())  # the first word of the second text, its three heads
#> tensor([[0.1994, 0.1410, 0.1504, 0.2564, 0.2527],
#>         [0.1122, 0.1562, 0.0948, 0.3133, 0.3235],
#>         [0.1672, 0.2690, 0.1896, 0.1951, 0.1790]])
mask = padding_mask([5, 2])[:, None, None]  # b 1 1 m
masked, weights = attend(x, attn_mask=mask, need_weights=True)
print(weights[1, :, 0].detach())
#> tensor([[0.5857, 0.4143, 0.0000, 0.0000, 0.0000],
#>         [0.4181, 0.5819, 0.0000, 0.0000, 0.0000],
#>         [0.3833, 0.6167, 0.0000, 0.0000, 0.0000]])
print([torch.allclose(masked[i], output[i], atol=1e-6) for i in range(2)])
#> [True, False]
multi_head = MultiHeadAttention(embed_dim=12, num_heads=3)
print(*(sum(p.numel() for p in module.parameters()) for module in (multi_head, attend)))
#> 624 416
