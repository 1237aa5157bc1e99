"""Bug: the rotary parts are rotated in pairs of one element of each half, not of neighbours."""

import torch

from attn_docs import apply_rotary
from attn_docs.exhibits.heads._latent import finish, join, parts, up_project

INTERLEAVED = False  # wrong: True


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    positions = torch.arange(x.size(1))
    query_rope = apply_rotary(query_rope, positions, interleaved=INTERLEAVED)
    key_rope = apply_rotary(key_rope, positions, interleaved=INTERLEAVED)
    key, value = up_project(attend, attend.kv_a_norm(latent))
    return finish(attend, join(query, query_rope), join(key, key_rope), value)
