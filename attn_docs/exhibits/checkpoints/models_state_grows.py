"""Bug: all layers are counted as if they cached keys, those with a state as well."""


def bytes_per_token(layer_types, kv_heads, head_dim, itemsize=2):
    layers = len(layer_types)  # wrong: layer_types.count("full_attention")
    return 2 * layers * kv_heads * head_dim * itemsize
