import torch

from attn_docs.testing import check_attention


def attend(query, key, value, is_causal=False):
    scores = query @ key.mT / key.size(-2) ** 0.5
    if is_causal:
        n, m = scores.shape[-2:]
        future = torch.ones(n, m, dtype=torch.bool).triu(m - n + 1)
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(-1) @ value


print(check_attention(attend).verdict)
#> failed
