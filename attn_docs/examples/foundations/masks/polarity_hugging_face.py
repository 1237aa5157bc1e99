import torch

from attn_docs import mask_to_boolean

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # as a tokenizer returns it
mask = mask_to_boolean(attention_mask)
print(mask)
#> tensor([[ True,  True,  True],
#>         [ True,  True, False]])

print(~attention_mask)  # ~ on integers flips bits; the result is no mask
#> tensor([[-2, -2, -2],
#>         [-2, -2, -1]])
