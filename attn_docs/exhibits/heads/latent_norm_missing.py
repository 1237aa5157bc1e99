"""Bug: the latent vector is not normalised."""

from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    key, value = unpack(attend, latent)  # wrong: unpack(attend, attend.kv_a_norm(latent))
    query = join(query, turn(query_rope))
    return finish(attend, query, join(key, turn(key_rope)), value)
