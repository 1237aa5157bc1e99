import torch

from attn_docs.testing import check_attention


def plain(query, key):
    return torch.exp(query @ key.mT / query.size(-1) ** 0.5)  # b h n m


def stable(query, key):
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    return torch.exp(scores - scores.amax(-1, keepdim=True))


for kernel in (plain, stable):

    def attend(query, key, value, kernel=kernel):
        counts = kernel(query, key)
        return counts @ value / counts.sum(-1, keepdim=True)

    report = check_attention(attend)
    print(kernel.__name__, report.verdict, *(finding.cause for finding in report.failures))
#> plain failed large scores overflow: the largest of a row is not subtracted before the exponential
#> stable passed
