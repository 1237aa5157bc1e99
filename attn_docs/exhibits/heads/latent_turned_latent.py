"""Bug: the latent vector is turned as well, so that the values depend on the position."""

from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    latent = turn(attend.kv_a_norm(latent))  # wrong: attend.kv_a_norm(latent)
    key, value = unpack(attend, latent)
    query = join(query, turn(query_rope))
    return finish(attend, query, join(key, turn(key_rope)), value)
