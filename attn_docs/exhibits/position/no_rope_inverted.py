"""Bug: `no_rope_layers` is read by its name, but a 1 there says that the layer does rotate."""

from attn_docs import MultiHeadAttention, RotaryEmbedding


def layers(no_rope_layers, embed_dim, num_heads):
    made = []
    for entry in no_rope_layers:
        rotates = entry == 0  # wrong: entry == 1
        rotary = RotaryEmbedding(embed_dim // num_heads) if rotates else None
        made.append(MultiHeadAttention(embed_dim, num_heads, rotary=rotary))
    return made
