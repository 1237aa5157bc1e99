"""Bug: with a cache, the bias of ALiBi is made for the new tokens alone."""

from attn_docs import alibi_bias


def step(attend, x, cache):  # the next token, b 1 embed_dim
    seen = 0  # wrong: cache.length
    bias = alibi_bias(attend.num_heads, x.size(1), offset=seen)  # 1 h n m
    return attend(x, attn_mask=bias, cache=cache)
