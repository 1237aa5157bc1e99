"""Bug: positions start again in each document, and nothing else tells the documents apart."""

from attn_docs import (
    apply_rotary,
    causal_mask,
    document_ids,
    document_mask,
    document_positions,
    scaled_dot_product_attention,
)


def attend(query, key, value, lengths):  # b h n d, b h n d, b h n e
    positions = document_positions(lengths)
    query, key = apply_rotary(query, positions), apply_rotary(key, positions)
    own = document_mask(document_ids(lengths))
    mask = causal_mask(len(own))  # wrong: a position is not a permission
    return scaled_dot_product_attention(query, key, value, mask)
