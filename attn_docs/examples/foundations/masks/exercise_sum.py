import torch

lowest = torch.finfo(torch.float32).min  # "finite, so that no row is ever NaN"


def additive(is_word):
    """Let padding neither attend nor be attended to."""
    hide = torch.zeros(len(is_word)).masked_fill(~is_word, lowest)  # n
    return hide[:, None] + hide[None, :]  # n n


for lengths in (2, 0):
    is_word = torch.arange(3) < lengths
    print(torch.softmax(torch.zeros(3, 3) + additive(is_word), dim=-1)[2])  # the last row
#> tensor([0.5000, 0.5000, 0.0000])
#> tensor([nan, nan, nan])
