"""The check of a cache: step by step, does a module compute what it computes on the whole?"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attn_docs.testing.checks.causal import causality
from attn_docs.testing.checks.context import cross_attention
from attn_docs.testing.checks.kept import STATE, kept_cause
from attn_docs.testing.checks.shared import batch
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.layers import Layer, matches
from attn_docs.testing.module_insight import ModuleInsight
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import LENGTH
from attn_docs.testing.structure import reproduce
from attn_docs.testing.subject import SubjectError, WrongShapeError, foreign

CHUNKS = ((LENGTH,), (1,) * LENGTH, (3, 1, 1, 1), (2, 3, 1))
FROM_FIRST = "with a cache, the causal mask is aligned with the first key, expected the last"
NO_NEXT = "a step cannot go on from the cache of the step before"
FROM_ZERO = "positions are counted from 0 in each step, expected from the number of kept keys"


@dataclass(frozen=True)
class Place:
    """A position, and the first and last of the chunk that it is in."""

    sizes: tuple[int, ...]
    position: int

    @property
    def end(self) -> int:
        """The first position after the chunk."""
        ends = (sum(self.sizes[: i + 1]) for i in range(len(self.sizes)))
        return next(end for end in ends if end > self.position)

    @property
    def start(self) -> int:
        """The first position of the chunk."""
        starts = (sum(self.sizes[:i]) for i in range(len(self.sizes)))
        return max(start for start in starts if start <= self.position)


def cache(insight: ModuleInsight) -> Judgement:
    """Decoding with a cache gives what the whole sequence gives."""
    subject = insight.subject
    if subject.adapter.step is None:
        return skipped("the adapter has no step(module, x, cache)")
    whole = subject.call(subject.words(2, LENGTH), causal=True).detach()
    worst, refused = 0.0, ""
    for sizes in CHUNKS:
        try:
            off = _differences(subject, sizes, whole)
        except WrongShapeError as error:
            cause = "a step returns other positions than it got"
            return failed(f"steps of {sizes} gave shape {error.shape}", cause)
        except SubjectError as error:
            refused = f"steps of {sizes} raised {error}"
            if max(sizes) == 1:
                return failed(refused, lambda: _root(insight) or NO_NEXT)
            if not isinstance(error.__cause__, (ValueError, NotImplementedError)):
                return failed(refused, "a step of several positions raises an exception")
            continue
        if not off.max() <= subject.tolerance:
            return _differs(insight, sizes, off)
        worst = max(worst, off.max().item())
    if refused:
        return passed(f"whole and single steps agree within {worst:.1e}; {refused}")
    return passed(f"whole, single steps and chunks agree within {worst:.1e}")


def _differences(subject: ModuleSubject, sizes: tuple[int, ...], whole: Tensor) -> Tensor:
    """Return how far each position is from what it is in the whole."""
    stepped = _in_steps(subject, subject.words(2, LENGTH), sizes)
    if stepped.shape != whole.shape:
        raise WrongShapeError(stepped.shape, str(tuple(whole.shape)))
    return (stepped - whole).abs().amax((0, 2))


def _in_steps(subject: ModuleSubject, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the outputs of the steps, side by side."""
    held, outputs = None, []
    for chunk in torch.split(x, list(sizes), 1):
        output, held = subject.step(chunk, held)
        outputs.append(output.detach())
    with foreign():  # they may not fit
        return torch.cat(outputs, 1)


def _differs(insight: ModuleInsight, sizes: tuple[int, ...], off: Tensor) -> Judgement:
    """Name the first position that steps make different, and the likely cause."""
    position = int((~(off <= insight.subject.tolerance)).nonzero()[0])
    return failed(
        f"in steps of {sizes} position {position} differs by {off.max():.2e} from the whole",
        _why(insight, Place(sizes, position)),
    )


def _why(insight: ModuleInsight, place: Place) -> str:
    """Return the likely cause, or what it means if calls raise now that did not before."""
    try:
        return _root(insight) or _cause(insight, place)
    except SubjectError:
        return STATE


def _root(insight: ModuleInsight) -> str:
    """Return what is wrong without a cache already; empty if nothing."""
    if causality(insight).verdict == "fail":
        return "later positions change earlier ones: see causality"
    if batch(insight).verdict == "fail":
        return "samples are mixed: see batch"
    crossed = cross_attention(insight)
    return crossed.cause if crossed.verdict == "fail" else insight.root_cause


def _cause(insight: ModuleInsight, place: Place) -> str:
    """Name the likely cause of a cache that gives other numbers: what does the position see?"""
    position, start = place.position, place.start
    late = sum(place.sizes) - place.sizes[-1]  # where an offset that is off by one is not 0
    if start and (cause := kept_cause(insight.subject, place.sizes, late)):
        return _counted(insight, place) or cause
    seen = _seen(insight.subject, place)
    if start and not any(j < start for j in seen):
        if position in seen:
            return "the cache is overwritten, not extended: earlier keys and values are lost"
        return FROM_FIRST
    if position not in seen:
        return f"{FROM_FIRST}: query i of a chunk sees key i + (keys − queries)"
    if any(j > position for j in seen):
        return "within a chunk the causal mask is not applied: a position sees later ones"
    lost = [j for j in range(position + 1) if j not in seen]
    if lost:
        return f"part of the cache is lost: position {position} does not see {lost}"
    return _counted(insight, place) or _other_numbers(insight, start)


def _seen(subject: ModuleSubject, place: Place) -> list[int]:
    """Return what the position depends on; no gradient goes through what is written in place."""
    x = subject.words(2, LENGTH)
    values = _in_steps(subject, x, place.sizes)[:, place.position]
    seen = []
    for j in range(LENGTH):
        changed = x.clone()
        changed[:, j] += 1.0
        if not matches(_in_steps(subject, changed, place.sizes)[:, place.position], values):
            seen.append(j)
    return seen


def _other_numbers(insight: ModuleInsight, start: int) -> str:
    """Name the likely cause where the position sees what it should."""
    if not start:
        return "the first chunk itself differs from the whole: its causal mask, or its positions"
    if insight.subject.positions:
        return FROM_ZERO
    if insight.structure is not None and insight.structure.how.rotary:
        return f"{FROM_ZERO}; or kept keys are turned again"
    return (
        "all earlier positions are seen, with other numbers: keys are in the cache more than once, "
        "or were changed there"
    )


def _counted(insight: ModuleInsight, place: Place) -> str:
    """Say how often each key is counted, if that explains the numbers; empty if not."""
    subject, search = insight.subject, insight.search
    if insight.structure is None:
        return ""
    x = subject.words(1, LENGTH)
    recording = subject.record(x, causal=subject.always_causal)
    found = search.again(insight.structure, recording)
    if found is None:
        return ""
    stepped = _in_steps(subject, x, place.sizes)[0, place.position]
    below = subject.shown(LENGTH)
    for said, keys in _repeated(place):
        query, key, value = found.sources.tensors
        sources = replace(found.sources, tensors=(query, key[keys], value[keys]))
        made = reproduce(sources, found.how, below[:, keys], x.size(-1), search.scale)
        if made is None:
            continue
        final = _project(subject, recording.rest[0], made[0]) if recording.rest else made[0]
        if final is not None and matches(final[place.position], stepped):
            return said
    return ""


def _repeated(place: Place) -> Iterator[tuple[str, list[int]]]:
    """Yield what may be in a cache more than once, and the keys that it then holds."""
    slots = {"the new": range(place.start, place.end), "the old": range(place.start)}
    for what, again in slots.items():
        for times in (2, 3):
            keys = [*range(LENGTH), *(list(again) * (times - 1))]
            yield f"{what} keys and values are in the cache {times} times", keys


def _project(subject: ModuleSubject, layer: Layer, inner: Tensor) -> Tensor | None:
    """Put other heads' results through the output projection."""
    weight = dict(subject.module.named_parameters())[layer.name].detach()
    if weight.ndim != 2:
        return None
    for matrix in (weight.mT, weight):
        if matrix.size(0) == inner.size(-1):
            bias = layer.output - layer.input @ matrix
            if torch.allclose(bias, bias[:1].expand_as(bias), atol=1e-5):
                return inner @ matrix + bias[:1]
    return None
