import math

import torch

from attn_docs.testing import check_attention


def attend(query, key, value):  # b h n d, b h m d, b h m e
    total, mixed = torch.zeros(()), torch.zeros(())
    for k, v in zip(key.split(4, -2), value.split(4, -2), strict=True):
        scores = query @ k.mT / math.sqrt(query.size(-1))  # b h n 4
        weights = scores.softmax(dim=-1)  # of this tile alone
        total = total + weights.sum(-1, keepdim=True)
        mixed = mixed + weights @ v
    return mixed / total  # b h n e


print(check_attention(attend).verdict)
#> failed
