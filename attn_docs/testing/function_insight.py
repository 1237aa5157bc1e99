"""Look at a function: which formula gives its numbers, and what does it do with a mask?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from attn_docs.testing.formula import (
    MASKS,
    Hypothesis,
    attention,
    divisor_value,
    one_thing_wrong,
    repeat_heads,
)
from attn_docs.testing.function_subject import (
    BATCH,
    HEAD_DIM,
    HEADS,
    KEYS,
    QUERIES,
    FunctionSubject,
)
from attn_docs.testing.insight import NO_MASK, ONE_OF_KEYS, Kind, MaskBehaviour, seen_with_both
from attn_docs.testing.patterns import pattern_evidence, sample_mask
from attn_docs.testing.subject import Mode, SubjectError, influence
from attn_docs.testing.wrongs import normalised_over

RIGHT = Hypothesis(HEADS, HEADS)
NOT_PLAIN = "the plain call is not the formula's; mend that first"


@dataclass(frozen=True, eq=False)
class FunctionInsight:
    """What was found out about a function.

    Attributes:
        subject: The function.
        how: What reproduces the plain call; None if nothing does.
        masks: What it does with a mask, if the plain call is right.
    """

    subject: FunctionSubject
    how: Hypothesis | None
    masks: Mapping[Mode, MaskBehaviour]

    @property
    def root_cause(self) -> str:
        """What is wrong with the plain call; empty if nothing is."""
        if self.how is None:
            return "none of the ways of computing that were searched gives these numbers"
        if self.how.divisor != "√head_dim":
            value = divisor_value(self.how, HEAD_DIM, HEAD_DIM, QUERIES)
            name = f"{self.how.divisor} = " if isinstance(self.how.divisor, str) else ""
            return f"scaled by {name}{value:.4g}, expected √head_dim = {math.sqrt(HEAD_DIM):.4g}"
        if self.how.axis == "swapped":
            return "query and key are swapped: row i of the scores belongs to key i"
        return "" if self.how.axis == "keys" else normalised_over(self.how.axis)

    @property
    def no_masks(self) -> str:
        """Why nothing can be asked about masks; empty if it can."""
        if "attn_mask" not in self.subject.takes:
            return NO_MASK
        return "" if self.how == RIGHT else NOT_PLAIN

    @property
    def no_causal(self) -> str:
        """Why nothing can be asked about the future; empty if it can."""
        if not self.takes_both:
            return "the function takes no is_causal"
        return "" if self.how is not None and self.how.axis == "keys" else NOT_PLAIN

    def wrong_with(self, mode: Mode, mask: Tensor | None, context: Tensor | None) -> str:  # noqa: ARG002
        """Say what is wrong inside; a function is compared with the formula call by call."""
        return ""

    def formula_fits(self, length: int) -> bool:  # noqa: ARG002
        """Tell whether what reproduces a few words reproduces so many; not asked of functions."""
        return True

    @property
    def takes_both(self) -> bool:
        """Whether a mask and is_causal can be asked for at once."""
        return "is_causal" in self.subject.takes

    @cached_property
    def masked_and_causal(self) -> Mapping[Mode, Tensor]:
        """Which keys are seen with a mask and is_causal at once, by mode; without refusals."""
        return seen_with_both(self)


def look_at(subject: FunctionSubject) -> FunctionInsight:
    """Find what reproduces the plain call, then what the mask does."""
    how = _way(subject)
    masks: dict[Mode, MaskBehaviour] = {}
    if "attn_mask" in subject.takes and how == RIGHT:
        masks = {mode: _look_at_mask(subject) for mode in subject.modes}
    return FunctionInsight(subject, how, masks)


def _way(subject: FunctionSubject) -> Hypothesis | None:
    """Return what reproduces the plain call: the formula, or the formula with one thing wrong."""
    inputs = subject.inputs()
    output = subject.attend(*inputs)
    plain = [
        how
        for how in (RIGHT, *one_thing_wrong(RIGHT))
        if how.split == how.merge == "heads" and how.mask == "right"
    ]
    if subject.square:
        plain.append(replace(RIGHT, axis="swapped"))
    found = next((how for how in plain if near(by_formula(inputs, how=how), output)), None)
    if found is None and (divisor := _divisor(subject)):
        return replace(RIGHT, divisor=divisor)
    return found


def _divisor(subject: FunctionSubject) -> float | None:
    """Return the one number that the scores are divided by, if there is one."""
    query, key, _ = subject.inputs()
    made = subject.attend(query, key, identity(subject)).detach()
    logs = made.log() - made.log().mean(-1, keepdim=True)
    scores = query @ key.mT
    scores = scores - scores.mean(-1, keepdim=True)
    factor = (logs * scores).sum() / scores.square().sum()
    return 1 / factor.item() if near(scores * factor, logs) and factor else None


def _look_at_mask(subject: FunctionSubject) -> MaskBehaviour:
    """Return what the function does with a boolean mask, and the evidence."""
    mask = sample_mask(KEYS, subject.device)
    columns = sample_mask(KEYS, subject.device, columns=True)
    try:
        kind = _way_of_masking(subject, mask)
        if kind == "none" and _way_of_masking(subject, columns) == "right":
            return ONE_OF_KEYS
    except SubjectError as error:
        return MaskBehaviour("raised", f"a boolean mask raised {error}")
    try:
        evidence = pattern_evidence(seen(subject, KEYS, KEYS, mask), mask)
    except SubjectError:  # no gradient, as where an argument is overwritten
        evidence = "no gradient tells which keys are seen"
    return MaskBehaviour(kind, evidence)


def _way_of_masking(subject: FunctionSubject, mask: Tensor) -> Kind:
    """Return the way of masking that gives the function's numbers."""
    inputs = subject.inputs(n=KEYS)
    output = subject.attend(*inputs, attn_mask=mask).detach()
    for kind in MASKS:
        if near(by_formula(inputs, mask, how=replace(RIGHT, mask=kind)), output):
            return kind
    return "unknown"


def by_formula(
    inputs: list[Tensor],
    mask: Tensor | None = None,
    *,
    how: Hypothesis | None = None,
    scale: float | None = None,
) -> Tensor:
    """Return what the formula gives, or the formula with one thing wrong."""
    query, key, value = inputs
    how = how or Hypothesis(query.size(1), key.size(1))
    if key.size(1) != query.size(1):
        key, value = repeat_heads(key, value, query.size(1) // key.size(1), how.groups, 1)
    divisor = divisor_value(how, query.size(-1), query.size(-1), query.size(-2))
    return attention(query, key, value, mask, 1 / scale if scale else divisor, how)[0]


def seen(
    subject: FunctionSubject, n: int, m: int, mask: Tensor | None = None, *, causal: bool = False
) -> Tensor:
    """Return (n, m): whether output i depends on key or value j, by gradient."""
    x, context = subject.words(BATCH, n), subject.words(BATCH, m, seed=1)
    strength = influence(subject, x, mask, context, causal=causal).nan_to_num(0.0)
    return strength > 1e-9 * strength.max()


def identity(subject: FunctionSubject) -> Tensor:
    """Return values that make the output the weights."""
    eye = torch.eye(KEYS, dtype=torch.float64, device=subject.device)
    return eye.expand(BATCH, HEADS, -1, -1)


def near(a: Tensor, b: Tensor, tolerance: float = 1e-9) -> bool:
    """Tell whether two results are the same up to rounding."""
    return a.shape == b.shape and bool(((a - b).abs() <= tolerance * a.abs().max()).all())
