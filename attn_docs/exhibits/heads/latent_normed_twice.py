"""Bug: the latent vector is normalised before it is cached, and again when it is read."""

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    cached = attend.kv_a_norm(latent)
    read = attend.kv_a_norm(cached)  # wrong: cached
    key, value = up_project(attend, read)
    query = join(query, rotate(query_rope))
    return finish(attend, query, join(key, rotate(key_rope)), value)
