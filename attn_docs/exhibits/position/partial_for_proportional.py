"""Bug: a quarter of the head is rotated, where a quarter of all frequencies should be."""

from attn_docs import ProportionalScaling, RotaryEmbedding

RULE = ProportionalScaling(share=0.25)


def rotary(head_dim, theta=1000000.0):
    options = {"rotary_dim": head_dim // 4}  # wrong: {"scaling": RULE}
    return RotaryEmbedding(head_dim, theta=theta, **options)
