"""Bug: the query heads are pooled as well, so all query heads of a group become equal."""

import copy

import torch


@torch.no_grad()
def convert(multi, groups):  # stays multi-head: each group's mean stands at all its heads
    new = copy.deepcopy(multi)
    for layer in (new.q_proj, new.k_proj, new.v_proj):  # wrong: (new.k_proj, new.v_proj)
        heads = layer.weight.view(groups, -1, multi.head_dim, layer.in_features)  # g h/g d D
        mean = heads.mean(1, keepdim=True).expand_as(heads)
        layer.weight.copy_(mean.flatten(0, 2))
    return new
