"""Bug: queries and keys are normalised after the rotation, where Qwen3 does it before."""


def placed(x, norm, rotate):
    """Normalise and rotate the queries or the keys, (b, h, n, d)."""
    return norm(rotate(x))  # wrong: rotate(norm(x))
