"""Bug: the rows of the value projection are reordered too, though values are never rotated."""

from attn_docs import rotary_to_half_split


def convert(state, num_heads, num_kv_heads):
    heads = {"q_proj": num_heads, "k_proj": num_kv_heads}
    heads["v_proj"] = num_kv_heads  # wrong: without this line
    return state | {
        name: rotary_to_half_split(state[name], heads[name.partition(".")[0]])
        for name in state
        if name.startswith(tuple(heads))
    }
