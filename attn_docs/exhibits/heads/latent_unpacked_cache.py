"""Bug: the keys and values are kept, and not what they are made from."""

from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    latent, key_rope = attend.kv_a_norm(latent), turn(key_rope)
    key, value = unpack(attend, latent)
    key = join(key, key_rope)
    kept = (key, value)  # wrong: (latent, key_rope)
    output = finish(attend, join(query, turn(query_rope)), key, value)
    return output, sum(tensor.nbytes for tensor in kept)
