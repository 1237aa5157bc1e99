"""Bug: the frequencies follow the length, but the cached keys were rotated by earlier ones."""

from attn_docs import RotaryEmbedding


def step(attend, x, cache, rule, longest):  # the next tokens, b n embed_dim
    fixed = rule.at(cache.length + x.size(1))  # wrong: rule.at(longest)
    attend.rotary = RotaryEmbedding(attend.head_dim, scaling=fixed)
    return attend(x, cache=cache)
