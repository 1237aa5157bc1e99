from attn_docs import causal_mask, padding_mask

left = padding_mask([2], max_len=4).flip(1)  # padding, padding, word, word
mask = causal_mask(4) & left[:, None, :]
print(mask[0].int())
#> tensor([[0, 0, 0, 0],
#>         [0, 0, 0, 0],
#>         [0, 0, 1, 0],
#>         [0, 0, 1, 1]], dtype=torch.int32)
print(mask.any(dim=-1))  # has the query any key?
#> tensor([[False, False,  True,  True]])
