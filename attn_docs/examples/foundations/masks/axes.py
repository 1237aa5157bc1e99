import torch

from attn_docs import attention_weights

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # b m, as a tokenizer returns it
is_word = attention_mask.bool()  # the second text has two words
causal = torch.ones(3, 3, dtype=torch.bool).tril()  # n m

query = key = torch.zeros(2, 3, 4)  # b n d: equal scores, so only the mask decides
print(attention_weights(query, key, is_word[:, None, :])[1])  # b 1 m
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
both = causal & is_word[:, None, :]  # n m & b 1 m: b n m
print(attention_weights(query, key, both)[1])
#> tensor([[1.0000, 0.0000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
