from attn_docs import causal_mask, invert_mask

window = causal_mask(5) & invert_mask(causal_mask(5, offset=-2))
print(window.int())
#> tensor([[1, 0, 0, 0, 0],
#>         [1, 1, 0, 0, 0],
#>         [0, 1, 1, 0, 0],
#>         [0, 0, 1, 1, 0],
#>         [0, 0, 0, 1, 1]], dtype=torch.int32)
