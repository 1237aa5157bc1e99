import torch

from attn_docs import attention_weights

query = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
may_attend = torch.ones(3, 3, dtype=torch.bool)
may_attend[2, 0] = False  # "sleeps" may not look at "the"

print(attention_weights(query, torch.eye(3), attn_mask=may_attend))
#> tensor([[0.2645, 0.4711, 0.2645],
#>         [0.2645, 0.2645, 0.4711],
#>         [0.0000, 0.5000, 0.5000]])
