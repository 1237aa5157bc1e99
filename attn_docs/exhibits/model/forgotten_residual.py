"""Bug: the attention replaces the residual stream instead of adding to it."""


def block(layer, x):
    x = layer.attention(layer.attention_norm(x), is_causal=True)  # wrong: x = x + ...
    return x + layer.mlp(layer.mlp_norm(x))
