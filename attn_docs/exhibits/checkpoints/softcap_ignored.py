"""Bug: the cap is an argument that nothing reads."""

import torch.nn.functional as F


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, softcap=None):
    return F.scaled_dot_product_attention(  # wrong: softcap_attention(…, softcap=softcap)
        query, key, value, attn_mask, dropout_p, is_causal
    )
