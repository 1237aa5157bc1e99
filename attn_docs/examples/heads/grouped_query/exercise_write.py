import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, enable_gqa=False):
    """Attend without repeating a key; a boolean mask is (n, m) or (b, 1 or h, n, m)."""
    query = query.unflatten(1, (key.size(1), -1))  # b g h/g n d
    scores = torch.einsum("bgrnd,bgmd->bgrnm", query, key) / query.size(-1) ** 0.5
    weights = scores.softmax(dim=-1)  # the mask is yours to write
    return torch.einsum("bgrnm,bgme->bgrne", weights, value).flatten(1, 2)  # b h n e


print(check_attention(attend).verdict)
#> failed
