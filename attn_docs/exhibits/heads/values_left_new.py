"""Bug: keys are pooled, values are forgotten and keep the new layer's random weights."""

import torch

from attn_docs import GroupedQueryAttention


@torch.no_grad()
def convert(multi, groups):
    heads, size, embed_dim = multi.num_heads, multi.head_dim, multi.q_proj.in_features
    new = GroupedQueryAttention(embed_dim, heads, groups, head_dim=size, bias=False)
    new.to(multi.out_proj.weight)
    for name in ("q_proj", "out_proj"):
        new.get_submodule(name).load_state_dict(multi.get_submodule(name).state_dict())
    for name in ("k_proj",):  # wrong: ("k_proj", "v_proj")
        rows = multi.get_submodule(name).weight.view(groups, -1, size, embed_dim)  # g h/g d D
        new.get_submodule(name).weight.copy_(rows.mean(1).flatten(0, 1))
    return new
