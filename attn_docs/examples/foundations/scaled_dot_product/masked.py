import torch

from attn_docs import attention_weights, causal_mask, padding_mask

query = key = torch.zeros(1, 4, 2)  # b n d: equal scores, so the masks are easy to see
may_look_back = causal_mask(4)  # n m
is_a_word = padding_mask([3], max_len=4)[:, None, :]  # b 1 m: the fourth place is padding

print(attention_weights(query, key, attn_mask=may_look_back & is_a_word))
#> tensor([[[1.0000, 0.0000, 0.0000, 0.0000],
#>          [0.5000, 0.5000, 0.0000, 0.0000],
#>          [0.3333, 0.3333, 0.3333, 0.0000],
#>          [0.3333, 0.3333, 0.3333, 0.0000]]])
