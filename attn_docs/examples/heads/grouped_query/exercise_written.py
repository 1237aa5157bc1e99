import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, enable_gqa=False):
    """Attend without repeating a key; a boolean mask is (n, m) or (b, 1 or h, n, m)."""
    b, h, n, d = query.shape
    query = query.unflatten(1, (key.size(1), -1))  # b g h/g n d
    scores = torch.einsum("bgrnd,bgmd->bgrnm", query, key) / d**0.5
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if attn_mask is not None:
        allowed = attn_mask.expand(b, h, n, key.size(2)).unflatten(1, (key.size(1), -1))
    weights = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(dim=-1)
    weights = weights.masked_fill(~allowed, 0.0)  # a fully masked row gives zeros
    return torch.einsum("bgrnm,bgme->bgrne", weights, value).flatten(1, 2)  # b h n e


print(check_attention(attend).verdict)
#> passed
