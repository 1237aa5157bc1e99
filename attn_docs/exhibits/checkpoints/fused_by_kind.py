"""Bug: a projection that is fused head by head is cut as if all queries came first."""


def split(fused, num_heads):
    """Cut GPT-NeoX's query_key_value into the weights of queries, keys and values."""
    kinds = fused.unflatten(0, (3, num_heads, -1))  # wrong: (num_heads, 3, -1)).transpose(0, 1)
    return [kind.flatten(0, 1) for kind in kinds]  # three of (heads·head_dim, embed_dim)
