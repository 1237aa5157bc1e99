"""Bug: a window of W is passed to a function that takes how far to look back."""

import torch
import torch.nn.functional as F

WINDOW = 4


def near(length, left):  # FlashAttention's window_size=(left, 0): keys i - left to i
    i, j = torch.arange(length).unsqueeze(1), torch.arange(length)
    return (i - left <= j) & (j <= i)  # n m


def attention(query, key, value):  # b h n d
    mask = near(query.size(2), WINDOW)  # wrong: WINDOW - 1
    return F.scaled_dot_product_attention(query, key, value, mask)
