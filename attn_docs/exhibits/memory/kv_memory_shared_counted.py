"""Bug: layers that read another layer's keys and values are counted as if they kept some."""


def bytes_per_token(layers, shared, kv_heads, head_dim, itemsize=2):
    keeping = layers  # wrong: layers - shared
    return 2 * keeping * kv_heads * head_dim * itemsize
