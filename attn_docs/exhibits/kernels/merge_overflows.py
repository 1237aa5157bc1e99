"""Bug: `log(1 + exp(x))` as it is written: above 88, exp(x) is infinite in float32."""

import torch


def merge(outputs, lses):  # for each part … n e and … n
    (output, lse), *others = zip(outputs, lses, strict=True)
    for other, its_lse in others:
        more = torch.log(1 + torch.exp(its_lse - lse))  # wrong: exp(89) is inf
        both = lse + more
        before, after = (lse - both).exp(), (its_lse - both).exp()
        output = before.unsqueeze(-1) * output + after.unsqueeze(-1) * other
        lse = both
    return output, lse
