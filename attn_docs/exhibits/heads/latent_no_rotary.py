"""Bug: every position counts as 0, so nothing is rotated and the order is lost."""

import torch

from attn_docs import apply_rotary
from attn_docs.exhibits.heads._latent import finish, join, parts, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    positions = torch.zeros(x.size(1), dtype=torch.int64)  # wrong: torch.arange(x.size(1))
    query_rope = apply_rotary(query_rope, positions, interleaved=True)
    key_rope = apply_rotary(key_rope, positions, interleaved=True)
    key, value = up_project(attend, attend.kv_a_norm(latent))
    return finish(attend, join(query, query_rope), join(key, key_rope), value)
