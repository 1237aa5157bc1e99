"""Bug: the normalised vector takes the place of the residual stream."""


def block(layer, x):
    normed = layer.attention_norm(x)
    x = normed + layer.attention(normed, is_causal=True)  # wrong: x + ...
    return x + layer.mlp(layer.mlp_norm(x))
