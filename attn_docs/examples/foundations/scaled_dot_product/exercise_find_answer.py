import torch

from attn_docs.testing import check_attention


def attend(query, key, value):
    scores = query @ key.mT
    weights = torch.softmax(scores / scores.size(-1) ** 0.5, dim=-1)
    return weights @ value


for finding in check_attention(attend).failures:
    print(finding.property)
#> oracle
#> scale
