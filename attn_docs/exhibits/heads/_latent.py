"""What the exhibits of latent attention share: everything but the line that is wrong."""

import torch
import torch.nn.functional as F

from attn_docs import apply_rotary, merge_heads, split_heads


def parts(attend, x):
    """Return queries in two parts, latent vectors and rotary keys, as the projections give them."""
    query = split_heads(attend.q_proj(x), attend.num_heads)  # b h n head_dim+rope_dim
    query, query_rope = query.split((attend.head_dim, attend.rope_dim), -1)
    entries = attend.kv_a_proj(x).unsqueeze(1)  # b 1 n kv_rank+rope_dim
    latent, key_rope = entries.split((attend.kv_rank, attend.rope_dim), -1)
    return query, query_rope, latent, key_rope


def rotate(x):
    """Rotate by position, counted from 0."""
    return apply_rotary(x, torch.arange(x.size(2)), interleaved=True)


def up_project(attend, latent):
    """Return each head's keys, without the rotary part, and values."""
    unpacked = split_heads(attend.kv_b_proj(latent.squeeze(1)), attend.num_heads)
    return unpacked.split((attend.head_dim, attend.value_dim), -1)


def join(key, key_rope):
    """Put the rotary key behind each head's key."""
    return torch.cat((key, key_rope.expand(*key.shape[:3], -1)), -1)


def finish(attend, query, key, value):
    """Attend to what came before, with PyTorch's scale, and mix the heads."""
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return attend.out_proj(merge_heads(heads))
