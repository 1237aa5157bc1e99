"""Checks of kernels of inference, which have no gradient: what changes, in place of it."""

import torch

from attn_docs.testing.checks import shared
from attn_docs.testing.function_insight import FunctionInsight, seen
from attn_docs.testing.function_subject import KEYS
from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, judge, skipped
from attn_docs.testing.patterns import LENGTH


def attends(insight: FunctionInsight) -> Judgement:
    """Each output depends on each key and value."""
    if insight.subject.differentiable:
        return shared.attends(insight)
    found = seen(insight.subject, KEYS, KEYS)
    missing = (~found).nonzero()
    if len(missing):
        i, j = missing[0].tolist()
        return failed(f"output {i} does not change with token {j}", insight.root_cause)
    return judge(True, f"each of {KEYS} outputs changes with each token")


def batch(insight: FunctionInsight) -> Judgement:
    """No sample depends on another sample of its batch."""
    subject = insight.subject
    if subject.differentiable:
        return shared.batch(insight)
    x = subject.words(3, LENGTH)
    together = subject.call(x)
    alone = torch.cat([subject.call(x[i : i + 1]) for i in range(3)])
    error = (together - alone).abs().max().item()
    return judge(error <= subject.tolerance, f"alone and in a batch differ by {error:.1e}")


def empty_rows(insight: FunctionInsight) -> Judgement:
    """A query that may attend to nothing gives finite numbers."""
    if insight.subject.differentiable:
        return shared.empty_rows(insight)
    if why := mask_unfit(insight):
        return skipped(why)
    subject = insight.subject
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=subject.device)
    mask[2] = False
    count = int((~subject.call(subject.words(1, LENGTH), mask).isfinite()).sum())
    cause = "softmax of a row of −∞ is NaN: set such rows aside before the softmax"
    return judge(not count, f"{count} outputs are not finite", cause)
