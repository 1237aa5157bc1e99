"""Bug: a mask of zeros and ones is added to the scores."""


def attention(query, key, value, is_word):
    scores = query @ key.mT / query.size(-1) ** 0.5
    mask = is_word[:, None, :]
    scores = scores + mask.to(scores.dtype)  # wrong: + mask_to_additive(mask), 0 and −∞
    return scores.softmax(dim=-1) @ value
