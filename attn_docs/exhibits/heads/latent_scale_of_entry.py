"""Bug: the absorbed form takes its scale from the size of an entry."""

import torch
import torch.nn.functional as F

from attn_docs import merge_heads
from attn_docs.exhibits.heads._latent import parts, rotate


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    entries = torch.cat((attend.kv_a_norm(latent), rotate(key_rope)), -1)
    weight = attend.kv_b_proj.weight.unflatten(0, (attend.num_heads, -1))  # h d+e c
    up_key, up_value = weight.split((attend.head_dim, attend.value_dim), 1)
    query = torch.cat((query @ up_key, rotate(query_rope)), -1)
    size = entries.size(-1)  # wrong: attend.head_dim + attend.rope_dim
    heads = F.scaled_dot_product_attention(
        query, entries, entries, is_causal=True, scale=size**-0.5
    )
    heads = heads[..., : attend.kv_rank] @ up_value.mT
    return attend.out_proj(merge_heads(heads))
