import torch

lowest = torch.finfo(torch.float32).min  # "finite, so that no row is ever NaN"

for length in (2, 0):
    is_word = torch.arange(3) < length
    hide = torch.zeros(3).masked_fill(~is_word, lowest)  # padding: neither queries nor keys
    scores = hide[:, None] + hide  # n n, as if all scores were zero before
    print(torch.softmax(scores, dim=-1)[2])  # the last row
#> tensor([0.5000, 0.5000, 0.0000])
#> tensor([nan, nan, nan])
