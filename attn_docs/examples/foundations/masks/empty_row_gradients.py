import torch

from attn_docs import mask_to_additive, masked_softmax

mask = torch.tensor([[True, True], [False, False]])  # the second query has nothing


def gradients(attend):
    scores = torch.zeros(2, 2, requires_grad=True)
    value = torch.tensor([[3.0], [6.0]], requires_grad=True)
    (attend(scores) @ value).sum().backward()
    print(attend.__name__, scores.grad[1].tolist(), value.grad[:, 0].tolist())


def minus_infinity(scores):
    return torch.softmax(scores + mask_to_additive(mask), dim=-1)


def zeroed_afterwards(scores):
    return torch.softmax(scores + mask_to_additive(mask), dim=-1).nan_to_num()


def very_low(scores):
    return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)


def ours(scores):
    return masked_softmax(scores, mask)


for attend in (minus_infinity, zeroed_afterwards, very_low, ours):
    gradients(attend)
#> minus_infinity [nan, nan] [nan, nan]
#> zeroed_afterwards [nan, nan] [0.5, 0.5]
#> very_low [0.0, 0.0] [1.0, 1.0]
#> ours [0.0, 0.0] [0.5, 0.5]
