"""Bug: the key projection is reordered as if it had as many heads as the query projection."""

from attn_docs import rotary_to_half_split


def convert(state, num_heads, num_kv_heads):
    heads = {"q_proj": num_heads, "k_proj": num_heads}  # wrong: "k_proj": num_kv_heads
    return state | {
        name: rotary_to_half_split(state[name], heads[name.partition(".")[0]])
        for name in state
        if name.startswith(tuple(heads))
    }
