"""Bug: forbidden scores are very low instead of −∞, so a fully masked row becomes the mean."""


def attention(query, key, value, is_word):
    scores = query @ key.mT / query.size(-1) ** 0.5
    mask = is_word[:, None, :]
    scores = scores.masked_fill(~mask, -1e20)
    weights = scores.softmax(dim=-1)  # wrong: no .masked_fill(~mask, 0.0)
    return weights @ value
