from attn_docs.testing import check_attention


def attend(query, key, value):
    """Scaled dot-product attention without a dot product of query and key."""
    distances = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)  # b h n m
    scores = -distances / (2 * query.size(-1) ** 0.5)  # something is missing here
    return scores.softmax(-1) @ value

print(check_attention(attend, require=["oracle"]).headline)
#> attend: not judged (oracle); formula: not judged; 2 not judged, 13 pass, 19 not applicable
