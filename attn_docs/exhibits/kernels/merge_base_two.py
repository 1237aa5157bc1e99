"""Bug: one kernel's log-sum-exp is a logarithm to base 2, and is merged as a natural one."""

import math

import torch


def merge(outputs, lses, bases):  # for each part … n e, … n and the base of its logarithm
    natural = [lse * math.log(base) for lse, base in zip(lses, bases, strict=True)]
    used = lses  # wrong: in base 2 the numbers are 1.44 times as large
    weights = torch.stack(used).softmax(0).unsqueeze(-1)
    return (weights * torch.stack(outputs)).sum(0), torch.stack(natural).logsumexp(0)
