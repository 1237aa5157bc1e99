"""A right module and a right function, for tests that spoil what goes in or what comes out."""

import math

import torch
from torch import nn

from attn_docs.testing import Finding, Report

DIM, HEADS = 32, 4


class Plain(nn.Module):
    """Attention that does what it should; `spoil` is called before, on its arguments."""

    def __init__(self, spoil=None):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.spoil = spoil

    def forward(self, x, attn_mask=None):
        if self.spoil is not None:
            x, attn_mask = self.spoil(self, x, attn_mask)
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        output = scores.softmax(-1).nan_to_num(0.0) @ v
        return self.o(output.transpose(1, 2).flatten(2))


def plain(query, key, value, attn_mask=None, is_causal=False):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if is_causal:
        below = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        attn_mask = below if attn_mask is None else below & attn_mask
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ value


def found(report: Report, name: str) -> Finding:
    return next(finding for finding in report.findings if finding.property == name)


def verdicts(report: Report) -> dict[str, str]:
    return {finding.property: finding.verdict for finding in report.findings}
