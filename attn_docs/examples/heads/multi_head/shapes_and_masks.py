import torch

from attn_docs import MultiHeadAttention, causal_mask, padding_mask, scaled_dot_product_attention

torch.set_printoptions(precision=2, sci_mode=False)
torch.manual_seed(0)
layer = MultiHeadAttention(embed_dim=12, num_heads=3).requires_grad_(False)
x = torch.randn(2, 4, 12)  # b n embed_dim
output, weights = layer(x, need_weights=True)
print(tuple(output.shape), tuple(weights.shape))
#> (2, 4, 12) (2, 3, 4, 4)
print(output[0, 0, :4])
#> tensor([ 0.39, -0.30,  0.02,  0.14])

masked, weights = layer(x, is_causal=True, need_weights=True)
print(masked[0, 0, :4])
#> tensor([ 0.74,  0.09, -0.37,  0.13])
print(weights[0, 0])  # the first text, the first head
#> tensor([[1.00, 0.00, 0.00, 0.00],
#>         [0.48, 0.52, 0.00, 0.00],
#>         [0.33, 0.48, 0.19, 0.00],
#>         [0.23, 0.18, 0.43, 0.16]])

is_token = padding_mask([4, 3])  # b m: the second text has three tokens
for mask in (causal_mask(4, 4), is_token[:, None, :], is_token[:, None, None, :]):
    print(tuple(mask.shape), tuple(layer(x, attn_mask=mask).shape))
#> (4, 4) (2, 4, 12)
#> (2, 1, 4) (2, 4, 12)
#> (2, 1, 1, 4) (2, 4, 12)

layer.attend = scaled_dot_product_attention  # the formula instead of PyTorch's function
print(torch.allclose(layer(x, is_causal=True), masked, atol=1e-6))
#> True
