"""Bug: the keys and values are cached, and not what they are made from."""

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    latent, key_rope = attend.kv_a_norm(latent), rotate(key_rope)
    key, value = up_project(attend, latent)
    key = join(key, key_rope)
    cached = (key, value)  # wrong: (latent, key_rope)
    output = finish(attend, join(query, rotate(query_rope)), key, value)
    return output, sum(tensor.nbytes for tensor in cached)
