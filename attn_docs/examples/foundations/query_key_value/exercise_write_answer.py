import torch

from attn_docs.testing import check_attention


def attend(query, key, value):
    scores = (query / query.size(-1) ** 0.5) @ key.mT  # … n m
    weights = torch.softmax(scores, dim=-1)
    return weights @ value  # … n e


report = check_attention(attend)
print(report.verdict)
#> passed
