"""Bug: the outputs of the parts are averaged, so one that found nothing counts fully."""

import torch


def merge(outputs, lses):  # for each part … n e and … n
    outputs, lses = torch.stack(outputs), torch.stack(lses)
    weights = torch.full_like(lses, 1 / len(lses))  # wrong: every part counts alike
    return (weights.unsqueeze(-1) * outputs).sum(0), lses.logsumexp(0)
