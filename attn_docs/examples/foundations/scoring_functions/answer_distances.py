from attn_docs.testing import check_attention


def attend(query, key, value):
    """Scaled dot-product attention without a dot product of query and key."""
    distances = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)  # b h n m
    returned = key.square().sum(-1).unsqueeze(-2)  # b h 1 m
    scores = (returned - distances) / (2 * query.size(-1) ** 0.5)  # b h n m
    return scores.softmax(-1) @ value

print(check_attention(attend, require=["oracle"]).headline)
#> attend: passed; formula: judged; 15 pass, 19 not applicable
