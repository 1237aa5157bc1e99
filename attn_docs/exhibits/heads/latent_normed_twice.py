"""Bug: the latent vector is normalised when it is kept, and again when it is read."""

from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    kept = attend.kv_a_norm(latent)
    read = attend.kv_a_norm(kept)  # wrong: kept
    key, value = unpack(attend, read)
    query = join(query, turn(query_rope))
    return finish(attend, query, join(key, turn(key_rope)), value)
