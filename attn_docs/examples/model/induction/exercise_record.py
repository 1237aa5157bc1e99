import torch

from attn_docs.testing import check_attention

recorded = []


def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None):
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)  # … n m
    recorded.append(weights.detach())
    return weights @ value


torch.manual_seed(0)
print(check_attention(attend).verdict)
#> failed
