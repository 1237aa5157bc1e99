"""Bug: True means "may attend", and is taken for "forbidden"."""


def attention(query, key, value, is_word):
    scores = query @ key.mT / query.size(-1) ** 0.5
    mask = is_word[:, None, :]
    scores = scores.masked_fill(mask, float("-inf"))  # wrong: masked_fill(~mask, …)
    return scores.softmax(dim=-1) @ value
