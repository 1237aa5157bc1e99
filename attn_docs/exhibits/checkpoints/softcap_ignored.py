"""Bug: the cap is an argument that nothing reads."""

import torch.nn.functional as F


def attention(query, key, value, attn_mask=None, is_causal=False, *, softcap=None):
    return F.scaled_dot_product_attention(  # wrong: softcap_attention(…)
        query, key, value, attn_mask, is_causal=is_causal
    )
