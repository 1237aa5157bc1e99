"""Bug: the query's rotary part is cut off in front, where the weights have it behind."""

from attn_docs import split_heads
from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    _, _, latent, key_rope = parts(attend, x)
    key, value = up_project(attend, attend.kv_a_norm(latent))
    d, r = attend.head_dim, attend.rope_dim
    both = split_heads(attend.q_proj(x), attend.num_heads)  # b h n d+r
    query_rope, query = both.split((r, d), -1)  # wrong: query, query_rope = both.split((d, r), -1)
    query = join(query, rotate(query_rope))
    return finish(attend, query, join(key, rotate(key_rope)), value)
