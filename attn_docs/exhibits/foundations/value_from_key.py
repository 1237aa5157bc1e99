"""Bug: the values are made with the key's projection."""

import torch.nn.functional as F


def attention(x, q_proj, k_proj, v_proj):
    query = x @ q_proj
    key = x @ k_proj
    value = x @ k_proj  # wrong: x @ v_proj
    return F.scaled_dot_product_attention(query, key, value)
