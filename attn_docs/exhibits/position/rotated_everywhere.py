"""Bug: every layer rotates, also those that were trained without positions."""

from attn_docs import MultiHeadAttention, RotaryEmbedding


def layers(no_rope_layers, embed_dim, num_heads):
    rotary = RotaryEmbedding(embed_dim // num_heads)
    return [
        MultiHeadAttention(embed_dim, num_heads, rotary=rotary)  # wrong: rotary if entry else None
        for entry in no_rope_layers
    ]
