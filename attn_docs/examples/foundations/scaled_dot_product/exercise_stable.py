import torch

from attn_docs.testing import check_attention


def attend(query, key, value):
    scores = (query / query.size(-1) ** 0.5) @ key.mT  # … n m
    powers = torch.exp(scores)
    return powers @ value / powers.sum(-1, keepdim=True)  # … n e


report = check_attention(attend)
print(report.verdict)
#> failed
print(report.failures[0].property)
#> half precision
