import torch

from attn_docs import padding_mask, scaled_dot_product_attention
from attn_docs.exhibits.foundations import four_axis_mask

x = torch.zeros(2, 3, 4)  # b n d
is_word = padding_mask([3, 2])  # b m
print(four_axis_mask.attention(x, x, x, is_word).shape)  # b b n e
#> torch.Size([2, 2, 3, 4])

try:
    scaled_dot_product_attention(x, x, x, is_word[:, None, None, :])
except ValueError as error:
    print("refused:", str(error).rpartition("; ")[2])
#> refused: got shape (2, 1, 1, 3)
