"""Bug: queries and keys are normalised after they were rotated."""

import torch.nn.functional as F


def attention(query, key, value, positions, rotary, q_norm, k_norm):
    def place(query, key):
        return rotary.rotate(query, key, positions)

    def norm(query, key):
        return q_norm(query), k_norm(key)

    query, key = norm(*place(query, key))  # wrong: place(*norm(query, key))
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)
