import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None):
    """Attend as the boolean mask says: True where a query may attend."""
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    return scores.softmax(dim=-1) @ value


print(check_attention(attend).verdict)
#> failed
