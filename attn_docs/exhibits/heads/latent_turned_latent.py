"""Bug: the latent vector is rotated as well, so that the values depend on the position."""

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    latent = rotate(attend.kv_a_norm(latent))  # wrong: attend.kv_a_norm(latent)
    key, value = up_project(attend, latent)
    query = join(query, rotate(query_rope))
    return finish(attend, query, join(key, rotate(key_rope)), value)
