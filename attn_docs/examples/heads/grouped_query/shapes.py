import torch

from attn_docs import GroupedQueryAttention, causal_mask

torch.set_printoptions(precision=2)

torch.manual_seed(0)
attend = GroupedQueryAttention(embed_dim=8, num_heads=4, num_kv_heads=2)
for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
    layer = getattr(attend, name)
    print(f"{name:8} {layer.in_features} -> {layer.out_features}")
#> q_proj   8 -> 8
#> k_proj   8 -> 4
#> v_proj   8 -> 4
#> out_proj 8 -> 8

x = torch.randn(1, 3, 8)  # b n embed_dim
output, weights = attend(x, need_weights=True)
print(tuple(output.shape), tuple(weights.shape))
#> (1, 3, 8) (1, 4, 3, 3)
print(weights[0, 0].detach())
#> tensor([[0.31, 0.34, 0.35],
#>         [0.32, 0.37, 0.32],
#>         [0.43, 0.23, 0.34]])

output, weights = attend(x, attn_mask=causal_mask(3), need_weights=True)
print(weights[0, 0].detach())
#> tensor([[1.00, 0.00, 0.00],
#>         [0.46, 0.54, 0.00],
#>         [0.43, 0.23, 0.34]])
print(torch.equal(output, attend(x, is_causal=True)))
#> True
