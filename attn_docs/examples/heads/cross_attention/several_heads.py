import torch

from attn_docs import CrossAttention, MultiHeadAttention, padding_mask

torch.manual_seed(0)
x, context = torch.randn(2, 3, 6), torch.randn(2, 5, 8)

single = CrossAttention(input_dim=6, context_dim=8, output_dim=4)
one = MultiHeadAttention(embed_dim=6, num_heads=1, kv_dim=8, head_dim=4)
one.load_state_dict(single.state_dict(), strict=False)  # all but out_proj
print(torch.allclose(one(x, context), one.out_proj(single(x, context)), atol=1e-6))
#> True

three = MultiHeadAttention(embed_dim=6, num_heads=3, kv_dim=8)
mask = padding_mask([5, 2])[:, None, None]  # b 1 1 m
output, weights = three(x, context, attn_mask=mask, need_weights=True)
print(tuple(output.shape), tuple(weights.shape))
#> (2, 3, 6) (2, 3, 3, 5)
print(weights[1, :, :, 2:].abs().max().item())  # nothing on the padding, in any head
#> 0.0
