"""Bug: one projection for keys and values is taken for one array in the cache."""


def bytes_per_token(layers, kv_heads, head_dim, one_projection, itemsize=2):
    arrays = 1 if one_projection else 2  # wrong: 2
    return layers * arrays * kv_heads * head_dim * itemsize
