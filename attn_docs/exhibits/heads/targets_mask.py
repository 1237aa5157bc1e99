"""Bug: the padding mask of the sequence that asks is put on the sequence that is asked."""

import torch.nn.functional as F


def attention(layer, x, context, x_is_word, context_is_word):
    query = layer.q_proj(x)
    key = layer.k_proj(context)
    value = layer.v_proj(context)
    mask = x_is_word[:, None]  # wrong: context_is_word[:, None]
    return F.scaled_dot_product_attention(query, key, value, mask)
