"""Bug: in a batch that is padded on the left, padding counts as positions."""

import torch


def positions_of(mask):  # b n, 1 for a token and 0 for padding
    return torch.arange(mask.size(1)).expand_as(mask)  # wrong: (mask.cumsum(1) - 1).clamp(min=0)
