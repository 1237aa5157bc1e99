"""Checks of every way to call: does each run, and do those that say the same give the same?"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from attn_docs.testing.insight import Insight
from attn_docs.testing.judgement import Judgement, failed, passed
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import Mode, Subject, SubjectError, declines_context, seeded


@dataclass(frozen=True)
class Call:
    """One way to call: what is given besides the words."""

    said: str
    masked: bool = False
    causal: bool = False
    context: bool = False

    def of(self, subject: Subject, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Call the subject in this way, with a context of as many words if none is given."""
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
                return wrong
            count += 1
    return passed(f"{count} calls give finite numbers, of lengths {_listed(insight.subject)}")


def _smallest_first(insight: Insight) -> Iterator[tuple[Mode, int, int, Call]]:
    lengths = sorted(insight.subject.lengths)
    return itertools.product(insight.subject.modes, lengths, (1, 3), calls(insight))


def _listed(subject: Subject) -> str:
    return ", ".join(str(length) for length in subject.lengths)


def _wrong(
    insight: Insight, subject: Subject, call: Call, x: Tensor, said: str
) -> Judgement | None:
    """Judge one call; None if its numbers are finite."""
    try:
        output = call.of(subject, x)
    except SubjectError as error:
        if call.context and declines_context(error):
            return None  # "cross-attention" says so
        return failed(f"{said}: {error}", "the call raises an exception")
    if output.isfinite().all():
        return None
    count = int((~output.isfinite()).sum())
    return failed(
        f"{said}: {count} of {output.numel()} numbers are not finite",
        lambda: insight.root_cause or "an overflow, or a softmax of a row of −∞",
    )
