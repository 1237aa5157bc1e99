import torch

from attn_docs import invert_mask, padding_mask

x = torch.zeros(2, 3, 2)
module = torch.nn.MultiheadAttention(embed_dim=2, num_heads=1, batch_first=True)

is_padding = invert_mask(padding_mask([3, 2]))
print(is_padding)
#> tensor([[False, False, False],
#>         [False, False,  True]])
_, weights = module(x, x, x, key_padding_mask=is_padding)
print(weights[1].detach())
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
