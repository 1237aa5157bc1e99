from attn_docs.testing import check_attention


def attend(query, key, value):
    """Attend to the keys in three parts."""
    outputs = []
    parts = zip(key.tensor_split(3, -2), value.tensor_split(3, -2), strict=True)
    for part, its_value in parts:
        scores = query @ part.mT / query.size(-1) ** 0.5  # b h n m/3
        outputs.append(scores.softmax(-1) @ its_value)  # b h n e
    return sum(outputs) / 3  # the merging is yours to write


print(check_attention(attend).verdict)
#> failed
