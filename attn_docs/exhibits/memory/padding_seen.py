"""Bug: texts are padded on the left, and no mask hides the padding while decoding."""

import torch


def decode(attend, x, attn_mask, cache):  # b n embed_dim and b 1 1 n, one token at a time
    outputs = []
    for end in range(1, x.size(1) + 1):
        mask = None  # wrong: the padding on the left is attended to
        outputs.append(attend(x[:, end - 1 : end], attn_mask=mask, cache=cache))
    return torch.cat(outputs, dim=1)
