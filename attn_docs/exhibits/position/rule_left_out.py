"""Bug: the rule that the model was trained further with is left out where it is used."""

from attn_docs import MultiHeadAttention, RotaryEmbedding


def load(state, embed_dim, num_heads, scaling):
    rotary = RotaryEmbedding(embed_dim // num_heads)  # wrong: …, scaling=scaling)
    attend = MultiHeadAttention(embed_dim, num_heads, rotary=rotary)
    attend.load_state_dict(state)
    return attend
