import torch

attention_mask = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])  # b m: padded on the left
causal = torch.ones(4, 4, dtype=torch.bool).tril()
mask = causal & attention_mask.bool()[:, None, None, :]  # b 1 n m
print(mask[1, 0].int())  # the rows of the padding are fully masked
#> tensor([[0, 0, 0, 0],
#>         [0, 0, 0, 0],
#>         [0, 0, 1, 0],
#>         [0, 0, 1, 1]], dtype=torch.int32)

positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)  # b m: the first word has position 0
print(positions.tolist())
#> [[0, 1, 2, 3], [0, 0, 0, 1]]
