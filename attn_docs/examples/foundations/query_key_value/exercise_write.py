from attn_docs.testing import check_attention


def attend(query, key, value):
    scores = query @ key.mT  # … n m
    return scores @ value  # … n e: not yet a weighted mean


report = check_attention(attend)
print(report.verdict)
#> failed
print([finding.property for finding in report.failures])
#> ['oracle', 'weights', 'equal words']
