"""Bug: the first target word sees the first source word only, the second sees two, and so on."""

import torch.nn.functional as F

from attn_docs import causal_mask


def attention(layer, x, context, x_is_word, context_is_word):
    query = layer.q_proj(x)
    key = layer.k_proj(context)
    value = layer.v_proj(context)
    mask = context_is_word[:, None]  # b 1 m
    mask = mask & causal_mask(x.size(1), context.size(1))  # wrong: the whole source may be seen
    return F.scaled_dot_product_attention(query, key, value, mask)
