import math

from attn_docs.testing import check_attention


def attend(query, key, value, attn_mask=None):  # attn_mask: True where a query may look
    scores = query @ key.mT / math.sqrt(query.size(-1))  # b h n m
    # your code here: lines of a batch differ in length
    return scores.softmax(dim=-1) @ value  # b h n e


print(check_attention(attend).verdict)
#> failed
