import torch

from attn_docs import mask_to_additive, masked_softmax
from attn_docs.sentence import labelled

mask = torch.tensor([[True, True], [False, False]])  # row 1 is fully masked


def gradients(weights_of):
    numbers = torch.tensor([1.0, 1.0, 1.0, 2.0, 3.0, 6.0], requires_grad=True)
    query, key, value = numbers.view(3, 2, 1)  # two of each, of size one
    (weights_of(query @ key.T) @ value).sum().backward()
    return numbers.grad


def added(scores):
    return torch.softmax(scores + mask_to_additive(mask), dim=-1)


def filled(scores, low=-torch.inf):
    return torch.softmax(scores.masked_fill(~mask, low), dim=-1)


ways = {
    "−∞ added": added,
    "−∞ added, NaN replaced": lambda scores: added(scores).nan_to_num(),
    "−∞ filled in": filled,
    "−∞ filled in, NaN replaced": lambda scores: filled(scores).nan_to_num(),
    "−1e9 filled in": lambda scores: filled(scores, -1e9),
    "ours": lambda scores: masked_softmax(scores, mask),
}
rows = torch.stack([gradients(weights_of) for weights_of in ways.values()])
print(labelled(rows, list(ways), ["q0", "q1", "k0", "k1", "v0", "v1"]))
#>                                q0     q1     k0     k1     v0     v1
#> −∞ added                     0.59    nan    nan    nan    nan    nan
#> −∞ added, NaN replaced       0.59    nan    nan    nan   0.27   0.73
#> −∞ filled in                 0.59   0.00  -0.59   0.59    nan    nan
#> −∞ filled in, NaN replaced   0.59   0.00  -0.59   0.59   0.27   0.73
#> −1e9 filled in               0.59   0.00  -0.59   0.59   0.77   1.23
#> ours                         0.59   0.00  -0.59   0.59   0.27   0.73
