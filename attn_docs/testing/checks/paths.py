"""Checks of every way to call: does each run, and do those that say the same give the same?"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attn_docs.testing.insight import Insight, mask_unfit
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import (
    Mode,
    Subject,
    SubjectError,
    declines_context,
    influence,
    seeded,
)


@dataclass(frozen=True)
class Call:
    """One way to call: what is given besides the tokens."""

    said: str
    masked: bool = False
    causal: bool = False
    context: bool = False

    def of(self, subject: Subject, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Call the subject in this way, with a context of as many tokens if none is given."""
        mask = None
        if self.masked:
            mask = sample_mask(x.size(-2), subject.device, columns=subject.masks_keys_alone)
        if self.context and context is None:
            context = subject.contexts(len(x), x.size(-2))
        seeded(0, subject.device)
        return subject.call(x, mask, context, causal=self.causal)


def calls(insight: Insight) -> list[Call]:
    """Return the ways in which the subject can be called."""
    found = [Call("no mask")]
    if not insight.no_masks:
        found.append(Call("a mask", masked=True))
    if not insight.no_causal and not insight.subject.always_causal:
        found.append(Call("is_causal=True", causal=True))
    if insight.subject.takes_context:
        found.append(Call("a context", context=True))
    return found


RAISES = "the call raises an exception"
AT_MOST = "if the module takes no more tokens by design, say so with lengths="


def runs(insight: Insight) -> Judgement:
    """Each way to call runs, in both modes, on batches and lengths of one and of many."""
    count = 0
    for mode, length, batch, call in _smallest_first(insight):
        subject = insight.subject.in_mode(mode)
        words = [subject.words(batch, length)]
        if batch > 1 and length == subject.length:  # the same numbers, in another order in memory
            words.append(words[0].transpose(-3, -2).contiguous().transpose(-3, -2))
        for x in words:
            layout = "" if x.is_contiguous() else ", not contiguous"
            said = f"batch {batch}, length {length}{layout}, with {call.said}, in {mode}"
            if wrong := _wrong(insight, subject, call, x, said):
                longer = length > subject.length and wrong.cause == RAISES
                return replace(wrong, cause=f"{RAISES}; {AT_MOST}") if longer else wrong
            count += 1
    return passed(f"{count} calls give finite numbers, of lengths {_listed(insight.subject)}")


def _smallest_first(insight: Insight) -> Iterator[tuple[Mode, int, int, Call]]:
    lengths = sorted(insight.subject.counts)
    return itertools.product(insight.subject.modes, lengths, (1, 3), calls(insight))


def _listed(subject: Subject) -> str:
    return ", ".join(str(length) for length in subject.counts)


def _wrong(
    insight: Insight, subject: Subject, call: Call, x: Tensor, said: str
) -> Judgement | None:
    """Judge one call; None if its numbers are finite."""
    try:
        output = call.of(subject, x)
    except SubjectError as error:
        if call.context and declines_context(error):
            return None  # "cross-attention" says so
        return failed(f"{said}: {error}", RAISES)
    if output.isfinite().all():
        return None
    count = int((~output.isfinite()).sum())
    return failed(
        f"{said}: {count} of {output.numel()} numbers are not finite",
        lambda: insight.root_cause or "an overflow, or a softmax of a row of −∞",
    )


@dataclass(frozen=True)
class Given:
    """What is given besides the tokens."""

    mask: Tensor | None = None
    context: Tensor | None = None
    causal: bool | None = None

    def to(self, subject: Subject, x: Tensor) -> Tensor:
        """Call the subject."""
        seeded(0, subject.device)
        return subject.call(x, self.mask, self.context, causal=self.causal).detach()


def flags_agree(insight: Insight) -> Judgement:
    """What says the same in two ways gives the same numbers."""
    said = []
    for mode in insight.subject.modes:
        subject = insight.subject.in_mode(mode)
        if len(subject.seeds) > 1:  # dropout that cannot be switched off may fall otherwise
            continue
        x = subject.words(2, subject.length)
        for name, one, other in _pairs(insight, subject, x):
            try:
                error = (one.to(subject, x) - other.to(subject, x)).abs().max().item()
            except SubjectError:  # "runs" and "cross-attention" say so; PyTorch refuses some
                continue
            if not error <= subject.tolerance:
                why = functools.partial(_why, insight, one, name, mode)
                return failed(f"in {mode}, {name} differ by {error:.2e}", why)
            said.append(name)
    if not said:
        return skipped("nothing can be said in two ways")
    return passed(f"the same numbers from {'; '.join(dict.fromkeys(said))}")


def _why(insight: Insight, given: Given, name: str, mode: Mode) -> str:
    if found := insight.root_cause or insight.wrong_with(mode, given.mask, given.context):
        return f"{name}: {found}"
    if given.context is not None:
        return (
            "with a context, another computation: a norm of its own for the context would do that "
            "by design: waive it"
        )
    return "one of the two ways computes something else: another scale, mask or position"


def _pairs(insight: Insight, subject: Subject, x: Tensor) -> Iterator[tuple[str, Given, Given]]:
    """Yield two ways of saying the same, with their name."""
    length = x.size(-2)
    sizes = (subject.contexts(1, length).size(-1), x.size(-1)) if subject.takes_context else (0, 1)
    if sizes[0] == sizes[1] and not subject.always_causal:
        yield "context=x and no context", Given(context=x, causal=False), Given(causal=False)
    if mask_unfit(insight) or subject.masks_keys_alone:
        return
    past = subject.shown(length)
    full, mask = torch.ones_like(past), sample_mask(length, subject.device)
    yield "a mask of True and no mask", Given(full, causal=False), Given(causal=False)
    if insight.takes_both and not _leaks(subject):
        triangle = Given(past, causal=False)
        yield "is_causal=True and the triangle as a mask", Given(causal=True), triangle
        both = Given(mask & past, causal=False)
        yield "a mask with is_causal=True and their product", Given(mask, causal=True), both


def _leaks(subject: Subject) -> bool:
    """Tell whether is_causal=True does not hide the future: "causality" says so."""
    if not subject.differentiable:
        return False
    seen = influence(subject, subject.words(1, subject.length), causal=True)
    hidden = seen * ~subject.shown(subject.length)
    return bool((hidden > 1e-9 * seen.max()).any())
