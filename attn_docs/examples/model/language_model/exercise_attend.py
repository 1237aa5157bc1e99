import math

import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, is_causal=False, scale=None):
    """Boolean masks, True where allowed. b h n d, b h m d, b h m e."""
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.mT * scale  # b h n m
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    return torch.softmax(scores, -1) @ value


print(check_attention(attend).verdict)
#> failed
