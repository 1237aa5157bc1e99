"""Bug: the scale counts the part of the keys without position, and not the rotary part."""

import torch.nn.functional as F

from attn_docs import merge_heads
from attn_docs.exhibits.heads._latent import join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    key, value = up_project(attend, attend.kv_a_norm(latent))
    query, key = join(query, rotate(query_rope)), join(key, rotate(key_rope))
    size = attend.head_dim  # wrong: attend.head_dim + attend.rope_dim
    scale = size**-0.5
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
    return attend.out_proj(merge_heads(heads))
