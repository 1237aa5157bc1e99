import torch
import torch.nn.functional as F

from attn_docs import causal_mask

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # b m, as a tokenizer returns it
padding = attention_mask.bool()[:, None, None, :]  # b 1 1 m
both = causal_mask(3) & padding  # n m & b 1 1 m: b 1 n m

query = key = torch.zeros(2, 5, 3, 3)  # b h n d: equal scores
value = torch.eye(3).expand(2, 5, 3, 3)  # the output is the weights
print(F.scaled_dot_product_attention(query, key, value, both)[1, 0])
#> tensor([[1.0000, 0.0000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
