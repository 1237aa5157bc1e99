"""Bug: latent vector and rotary key are normalised together."""

import torch
import torch.nn.functional as F

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    entry = torch.cat((latent, key_rope), -1)
    size = entry.size(-1)  # wrong: attend.kv_rank
    normed = F.rms_norm(entry[..., :size], (size,), eps=1e-6)
    entry = torch.cat((normed, entry[..., size:]), -1)
    latent, key_rope = entry.split((attend.kv_rank, attend.rope_dim), -1)
    key, value = up_project(attend, latent * attend.kv_a_norm.weight)
    query = join(query, rotate(query_rope))
    return finish(attend, query, join(key, rotate(key_rope)), value)
