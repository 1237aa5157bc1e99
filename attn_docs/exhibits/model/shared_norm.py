"""Bug: one norm serves both the attention and the MLP."""


def block(layer, x):
    x = x + layer.attention(layer.attention_norm(x), is_causal=True)
    return x + layer.mlp(layer.attention_norm(x))  # wrong: layer.mlp_norm(x)
