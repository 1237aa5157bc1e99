import torch

from attn_docs import attention_weights, padding_mask

mask = padding_mask([3, 2])  # b m
print(mask.int())
#> tensor([[1, 1, 1],
#>         [1, 1, 0]], dtype=torch.int32)

query = key = torch.zeros(2, 3, 4)  # b n d: equal scores
print(attention_weights(query, key, mask[:, None, :])[1])  # b 1 m
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])

query = key = torch.zeros(2, 5, 3, 4)  # b h n d
print(attention_weights(query, key, mask[:, None, None, :])[1, 0])  # b 1 1 m
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
