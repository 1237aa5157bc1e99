"""Name the cause of a wrong cache by the keys and values that a step meets, as they ran."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attn_docs.testing.layers import matches
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import LENGTH
from attn_docs.testing.stages import upright
from attn_docs.testing.trace import Attended, Tracer

ORDER = "keys and values stand in the cache in another order than their positions"
FIRST_SAMPLE = "the cache of one sample is used for all samples of the batch"
ROUNDED = "cached keys and values are rounded: the cache holds them in a lower precision"
STATE = "calls before it left something behind: state is kept in the module, not in the cache"
ANGLE = "new keys are rotated by another angle than in the whole: positions are counted wrong"
DIFFER = (
    "keys of a step are not those of the whole: a norm, a projection or a rotation is left out, "
    "or comes in another order"
)
CHANGED = "cached keys are changed from step to step, as when they are rotated again"


def kept_cause(subject: ModuleSubject, sizes: Sequence[int], start: int) -> str:
    """Return why the chunk that begins at `start` differs from the whole; empty if not seen."""
    x = subject.words(2, LENGTH)
    whole, step = _whole(subject, x), _step(subject, x, sizes, start)
    if whole is None or step is None or len(whole.key) != len(step.key):
        return ""
    count, words = step.key.size(1), start + step.query.size(1)
    if count > words:
        return (
            f"a step meets {count} keys where there are {words} tokens: keys are in the cache more "
            "than once, or were left in the module by calls before"
        )
    if count < words:
        return ""
    return _keys_differ(subject, x, whole, step, start)


def _whole(subject: ModuleSubject, x: Tensor) -> Attended | None:
    """Return the first attention of a call on all tokens."""
    with Tracer(subject.module, x.size(1)) as tracer:
        subject.call(x, causal=True)
    return upright(tracer.finished()[0]) if tracer.attended else None


def _step(subject: ModuleSubject, x: Tensor, sizes: Sequence[int], start: int) -> Attended | None:
    """Return the first attention of the step that begins at `start`."""
    cache, position = None, 0
    for chunk in torch.split(x, list(sizes), 1):
        with Tracer(subject.module, chunk.size(1)) as tracer:
            _, cache = subject.step(chunk, cache)
        if position == start:
            return tracer.finished()[0] if tracer.attended else None
        position += chunk.size(1)
    return None


def _keys_differ(
    subject: ModuleSubject, x: Tensor, whole: Attended, step: Attended, start: int
) -> str:
    """Compare each key of a step with that of the whole."""
    held = whole.key[:, : step.key.size(1)]
    if not matches(step.key, held) and _reordered(step.key, held):
        return ORDER
    old, new = step.key[:, :start], step.key[:, start:]
    right_old, right_new = whole.key[:, :start], whole.key[:, start : start + new.size(1)]
    if not matches(new, right_new):
        return _counted(subject, x, new, start) or (ANGLE if _turned(new, right_new) else DIFFER)
    if matches(old, right_old):
        values = step.value, whole.value[:, : step.value.size(1)]
        return "" if matches(*values) or not _near(*values) else ROUNDED
    half = len(old) // 2
    if matches(old[half:], old[:half]):
        return FIRST_SAMPLE
    if _near(old, right_old):
        return ROUNDED
    return CHANGED if _turned(old, right_old) else DIFFER


def _turned(made: Tensor, right: Tensor) -> bool:
    return matches(made.norm(dim=-1), right.norm(dim=-1))


def _reordered(made: Tensor, right: Tensor) -> bool:
    return matches(made.sort(1).values, right.sort(1).values)


def _near(made: Tensor, right: Tensor) -> bool:
    return bool((made - right).norm() <= 0.02 * right.norm())


def _counted(subject: ModuleSubject, x: Tensor, new: Tensor, start: int) -> str:
    """Say at which position the first new key was placed, if it was at another than its own."""
    for position in range(start):
        other = _whole(subject, x[:, start - position :])
        if other is not None and matches(new[:, 0], other.key[:, position]):
            return (
                f"positions are counted from {position} in a step after {start} tokens, "
                "expected from the number of cached keys"
            )
    return ""
