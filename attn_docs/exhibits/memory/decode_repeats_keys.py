"""Bug: each KV head is repeated for its query heads, so h/g times as many bytes are read."""

import torch


def step(query, key, value):  # b h 1 d, b g m d, b g m d
    group = query.size(1) // key.size(1)
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))  # wrong: no copies
    grouped = query.unflatten(1, (key.size(1), -1))  # b g r 1 d
    scores = torch.einsum("bgrnd,bgmd->bgrnm", grouped, key) / query.size(-1) ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bgrnm,bgmd->bgrnd", weights, value).flatten(1, 2)
