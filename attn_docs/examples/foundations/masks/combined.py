from attn_docs import causal_mask, padding_mask

causal = causal_mask(4)  # n m
padding = padding_mask([4, 2])[:, None, :]  # b 1 m
mask = causal & padding  # b n m
print(mask[1].int())
#> tensor([[1, 0, 0, 0],
#>         [1, 1, 0, 0],
#>         [1, 1, 0, 0],
#>         [1, 1, 0, 0]], dtype=torch.int32)
