import torch

lowest = torch.finfo(torch.float32).min  # "finite, so that no row is ever NaN"

for length in (2, 0):
    is_word = torch.arange(3) < length
    hide = torch.zeros(3).masked_fill(~is_word, lowest)  # padding: neither queries nor keys
    scores = torch.zeros(3, 3) + hide[:, None] + hide  # n n
    print(torch.softmax(scores, dim=-1)[2])  # the last row
#> tensor([0.5000, 0.5000, 0.0000])
#> tensor([nan, nan, nan])
