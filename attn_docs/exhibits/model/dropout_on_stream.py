"""Bug: dropout falls on the residual stream, not on what is added to it."""

import torch.nn.functional as F


def block(layer, x, p=0.1):
    attended = layer.attention(layer.attention_norm(x), is_causal=True)
    x = F.dropout(x + attended, p, layer.training)  # wrong: x = x + F.dropout(attended, …)
    return x + F.dropout(layer.mlp(layer.mlp_norm(x)), p, layer.training)
