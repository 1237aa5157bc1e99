"""Bug: weights trained with interleaved pairs are used with half-split pairs."""

from attn_docs import MultiHeadAttention, RotaryEmbedding


def load(state, embed_dim, num_heads):  # the weights of a model with interleaved pairs
    rotary = RotaryEmbedding(embed_dim // num_heads)  # wrong: …, interleaved=True)
    attend = MultiHeadAttention(embed_dim, num_heads, rotary=rotary)
    attend.load_state_dict(state)
    return attend
