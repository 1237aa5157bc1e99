import torch

from attn_docs.testing import check_attention


def kernel(query, key):  # b h n d, b h m d
    return torch.ones(*query.shape[:-1], key.size(-2)).to(query)  # b h n m: replace this


def attend(query, key, value):
    counts = kernel(query, key)
    return counts @ value / counts.sum(-1, keepdim=True)


report = check_attention(attend)
print(report.verdict)
#> failed
