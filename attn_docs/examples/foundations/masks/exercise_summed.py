import torch

from attn_docs import masked_softmax

lowest = torch.finfo(torch.float32).min
print(torch.tensor(lowest) + torch.tensor(lowest))  # beyond the range of float32
#> tensor(-inf)

for length in (2, 0):
    is_word = torch.arange(3) < length
    may_attend = is_word[:, None] & is_word[None, :]  # combine first, as booleans
    print(masked_softmax(torch.zeros(3, 3), may_attend)[2])
#> tensor([0., 0., 0.])
#> tensor([0., 0., 0.])
