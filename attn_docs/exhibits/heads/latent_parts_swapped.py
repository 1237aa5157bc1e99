"""Bug: the query's rotary part is cut off in front; in the weights it stands behind."""

from attn_docs import split_heads
from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def attention(attend, x):
    _, _, latent, key_rope = parts(attend, x)
    key, value = unpack(attend, attend.kv_a_norm(latent))
    d, r = attend.head_dim, attend.rope_dim
    both = split_heads(attend.q_proj(x), attend.num_heads)  # b h n d+r
    query_rope, query = both.split((r, d), -1)  # wrong: query, query_rope = both.split((d, r), -1)
    query = join(query, turn(query_rope))
    return finish(attend, query, join(key, turn(key_rope)), value)
