"""Bug: whole queries and keys are rotated, and not their rotary part alone."""

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


def place(without, rotary):
    return rotate(join(without, rotary))  # wrong: join(without, rotate(rotary))


def attention(attend, x):
    query, query_rope, latent, key_rope = parts(attend, x)
    key, value = up_project(attend, attend.kv_a_norm(latent))
    return finish(attend, place(query, query_rope), place(key, key_rope), value)
