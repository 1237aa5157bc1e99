import torch

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None, is_causal=False):
    """Softmax of the scaled scores over the keys, for a boolean mask that is True where allowed."""
    return torch.zeros(*query.shape[:-1], value.size(-1), dtype=query.dtype)  # your code here

print(check_attention(attend).verdict)
#> failed
