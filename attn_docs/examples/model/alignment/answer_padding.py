import math

import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None):  # attn_mask: True where a query may look
    scores = query @ key.mT / math.sqrt(query.size(-1))  # b h n m
    if attn_mask is None:
        return scores.softmax(dim=-1) @ value  # b h n e
    empty = ~attn_mask.any(dim=-1, keepdim=True)  # … n 1: nothing to look at
    scores = scores.masked_fill(~attn_mask, -torch.inf).masked_fill(empty, 0)
    return scores.softmax(dim=-1).masked_fill(empty, 0) @ value  # b h n e


print(check_attention(attend).verdict)
#> passed
