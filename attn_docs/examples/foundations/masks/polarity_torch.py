import torch
import torch.nn.functional as F

from attn_docs import causal_mask

x = torch.zeros(1, 3, 2)  # equal scores, so that only the mask decides
position = torch.eye(3)[None]  # key j's value is 1 in place j: outputs are weights
mask = causal_mask(3)  # True: may attend

print(F.scaled_dot_product_attention(x, x, position, attn_mask=mask))
#> tensor([[[1.0000, 0.0000, 0.0000],
#>          [0.5000, 0.5000, 0.0000],
#>          [0.3333, 0.3333, 0.3333]]])

module = torch.nn.MultiheadAttention(embed_dim=2, num_heads=1, batch_first=True)
_, weights = module(x, x, x, attn_mask=~mask)  # True: blocked
print(torch.equal(weights, F.scaled_dot_product_attention(x, x, position, attn_mask=mask)))
#> True

_, weights = module(x, x, x, attn_mask=mask)  # wrong: not inverted
print(weights.detach())
#> tensor([[[0.0000, 0.5000, 0.5000],
#>          [0.0000, 0.0000, 1.0000],
#>          [   nan,    nan,    nan]]])
