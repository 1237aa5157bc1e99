import torch

from attn_docs import attention_weights, causal_mask, padding_mask

is_word = padding_mask([3, 2])  # b m: the second text has two words
print(is_word.int())
#> tensor([[1, 1, 1],
#>         [1, 1, 0]], dtype=torch.int32)

query = key = torch.zeros(2, 3, 4)  # b n d: equal scores
print(attention_weights(query, key, is_word[:, None, :])[1])  # b 1 m
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])

both = causal_mask(3) & is_word[:, None, :]  # n m & b 1 m: b n m
print(attention_weights(query, key, both)[1])
#> tensor([[1.0000, 0.0000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])

heads = torch.zeros(2, 5, 3, 4)  # b h n d: with heads, one axis more
print(attention_weights(heads, heads, is_word[:, None, None, :]).shape)  # b 1 1 m
#> torch.Size([2, 5, 3, 3])
