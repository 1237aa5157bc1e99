"""Bug: the latent vector is not normalised."""

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    key, value = up_project(attend, latent)  # wrong: up_project(attend, attend.kv_a_norm(latent))
    query = join(query, rotate(query_rope))
    return finish(attend, query, join(key, rotate(key_rope)), value)
