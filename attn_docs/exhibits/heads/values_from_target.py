"""Bug: the weights are over the other sequence, but what they mix is the target itself."""

import torch.nn.functional as F


def attention(layer, x, context, x_is_word, context_is_word):
    query = layer.q_proj(x)
    key = layer.k_proj(context)
    value = layer.v_proj(x)  # wrong: layer.v_proj(context)
    return F.scaled_dot_product_attention(query, key, value, context_is_word[:, None])
