from attn_docs.testing import check_attention


def attend(query, key, value):
    """TODO: what is left to write."""
    scores = query @ key.mT  # b h n m
    return scores @ value  # b h n e


print(check_attention(attend).verdict)
#> failed
