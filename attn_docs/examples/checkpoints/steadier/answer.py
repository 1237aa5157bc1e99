from attn_docs import causal_mask
from attn_docs.testing import check_attention


def attend(query, key, value, is_causal=False):
    """Attend with scores from −20 to 20, then hide the future."""
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    scores = 20 * (scores / 20).tanh()
    if is_causal:
        future = ~causal_mask(scores.size(-2), scores.size(-1))  # n m
        scores = scores.masked_fill(future, float("-inf"))
    return scores.softmax(dim=-1) @ value  # b h n e


print(check_attention(attend, softcap=20.0).verdict)
#> passed
