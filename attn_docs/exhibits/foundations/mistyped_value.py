"""Bug: a number is copied by hand into a worked example, 0.5 where the values say 0.8."""

weights = [0.1, 0.8, 0.1]
third_column = [0.5, 0.3, 0.5]  # wrong: the third value's last number is 0.8


def weighted_mean():
    return sum(w * v for w, v in zip(weights, third_column, strict=True))
