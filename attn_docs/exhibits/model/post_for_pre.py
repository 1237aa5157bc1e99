"""Bug: the norms stand after the sum, in a model that was trained with them before."""


def block(layer, x):
    before = False  # wrong: True
    attended = layer.attention(layer.attention_norm(x) if before else x, is_causal=True)
    x = x + attended if before else layer.attention_norm(x + attended)
    computed = layer.mlp(layer.mlp_norm(x) if before else x)
    return x + computed if before else layer.mlp_norm(x + computed)
