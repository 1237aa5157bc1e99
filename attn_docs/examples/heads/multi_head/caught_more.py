import torch

from attn_docs import MultiHeadAttention, padding_mask
from attn_docs.exhibits.heads import mask_as_heads, value_through_key

torch.manual_seed(0)
is_token = padding_mask([5, 2, 4])  # b m: three texts
x = torch.randn(3, 5, 12)
other_padding = x.masked_fill(~is_token[:, :, None], 100.0)
mask = is_token[:, None, :].expand(3, 5, 5)  # b n m
output = mask_as_heads.attention(x, x, x, 3, mask)  # as many heads as texts
moved = mask_as_heads.attention(x, x, other_padding, 3, mask)
print("padding is ignored:", torch.allclose(output, moved))
#> padding is ignored: False
try:
    mask_as_heads.attention(x, x, x, 4, mask)
except RuntimeError:
    print("four heads: an error")
#> four heads: an error

layer = MultiHeadAttention(12, 3).requires_grad_(False)
output = value_through_key.attention(layer, x)
layer.v_proj.weight.mul_(2)
print("v_proj is used:", not torch.equal(value_through_key.attention(layer, x), output))
#> v_proj is used: False
