"""Bug: the size of a head is taken to be the width divided by the number of heads."""


def bytes_per_token(layers, width, heads, kv_heads, head_dim, itemsize=2):
    size = width // heads  # wrong: head_dim
    return 2 * layers * kv_heads * size * itemsize
