"""Bug: the bias lacks the axis of heads, so all heads get the one of the last."""

from attn_docs import alibi_bias


def bias(num_heads, n):
    found = alibi_bias(num_heads, n)  # 1 h n n
    return found[:, -1:]  # wrong: found
