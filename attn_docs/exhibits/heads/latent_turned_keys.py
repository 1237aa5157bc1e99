"""Bug: queries and unpacked keys are turned as a whole, and not in their rotary part only."""

from attn_docs.exhibits.heads._latent import finish, join, parts, turn, unpack


def place(without, rotary):
    return turn(join(without, rotary))  # wrong: join(without, turn(rotary))


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    key, value = unpack(attend, attend.kv_a_norm(latent))
    return finish(attend, place(query, query_rope), place(key, key_rope), value)
