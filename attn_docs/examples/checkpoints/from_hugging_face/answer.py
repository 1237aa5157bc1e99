import math

from attn_docs.testing import check_attention


def attend(query, key, value):
    """TODO: what was left to write."""
    scores = query @ key.mT / math.sqrt(query.size(-1))  # b h n m
    return scores.softmax(dim=-1) @ value  # b h n e


print(check_attention(attend).verdict)
#> passed
