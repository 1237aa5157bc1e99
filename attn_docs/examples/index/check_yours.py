import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None):  # yours here; this has a bug
    scores = query @ key.mT / query.size(-1) ** 0.5
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask, -torch.inf)
    return scores.softmax(-1).nan_to_num() @ value


print(check_attention(attend).failures[0].cause)
#> the mask's polarity is inverted: True removes what it should keep
