"""Bug: biases of the checkpoint have no place in the layer, and strict=False hides it."""

from attn_docs import GroupedQueryAttention


def load(state, embed_dim, num_heads, num_kv_heads, rotary):
    """Return Qwen2's layer with its weights."""
    biases = {"bias": False}  # wrong: {"qkv_bias": True, "out_bias": False}
    layer = GroupedQueryAttention(embed_dim, num_heads, num_kv_heads, rotary=rotary, **biases)
    layer.load_state_dict(state, strict=False)
    return layer
