"""Bug: the sequences change places, so the memory asks and the target answers."""

import torch.nn.functional as F


def attention(layer, x, context, x_is_word, context_is_word):
    x, context = context, x  # wrong: they stay where they are
    query = layer.q_proj(x)
    key = layer.k_proj(context)
    value = layer.v_proj(context)
    return F.scaled_dot_product_attention(query, key, value, context_is_word[:, None])
