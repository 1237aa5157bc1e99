"""Bug: decoding sees a window, but the model was trained without one."""

import torch
import torch.nn.functional as F

from attn_docs import sliding_window_mask

WINDOW = 4


def train(query, key, value):  # b h n d
    mask = sliding_window_mask(query.size(2), window=query.size(2))  # wrong: window=WINDOW
    return F.scaled_dot_product_attention(query, key, value, mask)


def decode(query, key, value):
    steps = []
    for t in range(query.size(2)):
        held = slice(max(0, t + 1 - WINDOW), t + 1)  # what a cache of WINDOW tokens holds
        one = query[:, :, [t]], key[:, :, held], value[:, :, held]
        steps.append(F.scaled_dot_product_attention(*one))
    return torch.cat(steps, dim=2)
