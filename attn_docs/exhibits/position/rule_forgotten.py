"""Bug: the weights of Llama 3.1 are used with the frequencies of Llama 3."""

from attn_docs import GroupedQueryAttention, Llama3Scaling, RotaryEmbedding

RULE = Llama3Scaling(factor=8.0, original_length=8192)  # as config.json says


def load(state, embed_dim, num_heads, num_kv_heads):
    size = embed_dim // num_heads
    rotary = RotaryEmbedding(size, theta=500000.0)  # wrong: …, scaling=RULE)
    attend = GroupedQueryAttention(embed_dim, num_heads, num_kv_heads, bias=False, rotary=rotary)
    attend.load_state_dict(state)
    return attend
