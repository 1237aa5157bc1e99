"""Bug: query heads are counted, though only key and value heads are kept."""


def bytes_per_token(layers, heads, kv_heads, head_dim, itemsize=2):
    kept = heads  # wrong: kv_heads
    return 2 * layers * kept * head_dim * itemsize
