"""Bug: a head is switched off by the rows of the output projection, not by its columns."""

import torch


@torch.no_grad()
def head_off(attention, head):
    part = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
    attention.out_proj.weight[part] = 0  # wrong: weight[:, part]
