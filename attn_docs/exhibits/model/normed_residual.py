"""Bug: the norm is written over the residual stream."""


def block(layer, x):
    x = layer.attention_norm(x)  # wrong: read = layer.attention_norm(x)
    read = x
    x = x + layer.attention(read, is_causal=True)
    return x + layer.mlp(layer.mlp_norm(x))
