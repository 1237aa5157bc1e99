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
#> tensor([[0.1804, 0.2039, 0.2277, 0.2040, 0.1840],
#>         [0.1566, 0.1727, 0.2345, 0.1514, 0.2847],
#>         [0.1745, 0.2051, 0.2097, 0.1771, 0.2336]])
mask = padding_mask([5, 2])[:, None, None]  # b 1 1 m
masked, weights = attend(x, attn_mask=mask, need_weights=True)
print(weights[1, :, 0].detach())
#> tensor([[0.4694, 0.5306, 0.0000, 0.0000, 0.0000],
#>         [0.4754, 0.5246, 0.0000, 0.0000, 0.0000],
#>         [0.4597, 0.5403, 0.0000, 0.0000, 0.0000]])
print([torch.allclose(masked[i], output[i], atol=1e-6) for i in range(2)])
#> [True, False]
multi_head = MultiHeadAttention(embed_dim=12, num_heads=3)
print(*(sum(p.numel() for p in module.parameters()) for module in (multi_head, attend)))
#> 624 416
