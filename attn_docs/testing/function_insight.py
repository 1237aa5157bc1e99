"""Look at a function: which formula gives its numbers, and what does it do with a mask?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

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
from attn_docs.testing.function_call import MASK_AXES
from attn_docs.testing.function_subject import (
    BATCH,
    HEADS,
    KEYS,
    SINGLE,
    FunctionSubject,
    name_of,
)
from attn_docs.testing.function_ways import near, odd_way, precision_inside, softcap_of
from attn_docs.testing.insight import NO_MASK, ONE_OF_KEYS, Kind, MaskBehaviour, seen_with_both
from attn_docs.testing.patterns import pattern_evidence, sample_mask
from attn_docs.testing.subject import Mode, SubjectError, influence
from attn_docs.testing.wrongs import normalised_over

RIGHT = Hypothesis(HEADS, HEADS)
NOT_PLAIN = "the plain call is not the formula's; mend that first"
UNKNOWN = "not one of the known ways of computing"


@dataclass(frozen=True, eq=False)
class FunctionInsight:
    """What was found out about a function.

    Attributes:
        subject: The function.
        how: What reproduces the plain call; None if nothing does.
        odd: What the plain call does in place of attention; empty if that is not known.
        softcap: The soft-cap that the reader claims.
        inside: The precision that it computes in whatever it is given; None if not another.
        backward: Whether its gradients are asked for.
        masks: What it does with a mask, if the plain call is attention.
        knobs: Arguments that the reader names, each with a value that must change something.
    """

    subject: FunctionSubject
    how: Hypothesis | None
    odd: str = ""
    softcap: float | None = None
    inside: torch.dtype | None = None
    backward: bool = True
    masks: Mapping[Mode, MaskBehaviour] = field(default_factory=dict)
    knobs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def root_cause(self) -> str:
        """What is wrong with the plain call; empty if nothing is, or if that is not known."""
        if self.how is None:
            return self.odd
        if self.softcap is not None and self.how.softcap != self.softcap:
            does = "no soft-cap is applied"
            if self.how.softcap is not None:
                does = f"scores are soft-capped at {self.how.softcap:.4g}"
            return f"{does}, expected {self.softcap:.4g}"
        return self.in_words(self.how)

    def in_words(self, how: Hypothesis) -> str:
        """Say what is wrong with a way of computing; empty if nothing is."""
        size, queries = self.subject.head_dim, self.subject.plain[0]
        if how.divisor != "√head_dim":
            value = divisor_value(how, size, size, queries)
            name = f"{how.divisor} = " if isinstance(how.divisor, str) else ""
            return f"scaled by {name}{value:.4g}, expected √head_dim = {math.sqrt(size):.4g}"
        if how.axis == "swapped":
            return "query and key are swapped: row i of the scores belongs to key i"
        if how.axis != "keys":
            return normalised_over(how.axis)
        return "" if how.mask == "right" else MASKS[how.mask]

    @property
    def way(self) -> Hypothesis:
        """The way of computing from which a call is expected to differ in nothing."""
        return self.how or RIGHT

    @property
    def is_attention(self) -> bool:
        """Whether other calls can be judged by the plain one: it is a softmax over the keys."""
        return self.sums_to_one if self.how is None else self.how.axis == "keys"

    @cached_property
    def sums_to_one(self) -> bool:
        """Whether the weights of a query do, as seen by values of ones and zeros."""
        weights = self.subject.weights(*self.subject.inputs()[:2]).detach().double()
        return not self.odd and bool(((weights.sum(-1) - 1).abs() <= self.subject.tolerance).all())

    @property
    def no_masks(self) -> str:
        """Why nothing can be asked about masks; empty if it can."""
        if "attn_mask" not in self.subject.takes:
            return NO_MASK
        return "" if self.is_attention else NOT_PLAIN

    @property
    def no_causal(self) -> str:
        """Why nothing can be asked about the future; empty if it can."""
        if not self.takes_both:
            return "the function takes no is_causal"
        return "" if self.is_attention else NOT_PLAIN

    def wrong_with(self, mode: Mode, mask: Tensor | None, context: Tensor | None) -> str:  # noqa: ARG002
        """Say what is wrong inside; a function is compared with the formula call by call."""
        return ""

    def formula_fits(self, length: int) -> bool:  # noqa: ARG002
        """Tell whether what reproduces a few tokens reproduces so many; not asked of functions."""
        return True

    @property
    def takes_both(self) -> bool:
        """Whether a mask and is_causal can be asked for at once."""
        return "is_causal" in self.subject.takes

    @cached_property
    def masked_and_causal(self) -> Mapping[Mode, Tensor]:
        """Which keys are seen with a mask and is_causal at once, by mode; without refusals."""
        if not (self.takes_both and self.subject.differentiable):
            return {}
        alone = seen(self.subject, KEYS, KEYS, causal=True)
        # where is_causal alone hides nothing, a mask is not what it loses
        return {} if alone.all() else seen_with_both(self)

    @cached_property
    def alignment(self) -> str:
        """With which key the first of fewer queries is level: "first", "last", or empty."""
        if self.subject.plain[0] == self.subject.plain[1]:
            return "first"
        pattern = seen(self.subject, 3, 5, causal=True)
        ones = torch.ones_like(pattern)
        aligned = {"first": ones.tril(), "last": ones.tril(2)}
        return next((name for name, good in aligned.items() if torch.equal(pattern, good)), "")

    def triangle(self, n: int, m: int) -> Tensor:
        """Return the mask that is_causal stands for."""
        offset = m - n if self.alignment == "last" else 0
        return torch.ones(n, m, dtype=torch.bool, device=self.subject.device).tril(offset)

    def expected(
        self,
        inputs: list[Tensor],
        mask: Tensor | None = None,
        *,
        scale: float | None = None,
        how: Hypothesis | None = None,
    ) -> Tensor:
        """Return what the formula gives in float64, or another way of computing.

        Where the formula is not known, the weights of the plain call stand for it: a mask takes
        some away, and the rest are divided by their sum.
        """
        query, key, value = inputs
        how = replace(how or self.way, num_heads=query.size(1), num_kv_heads=key.size(1))
        if key.size(1) != query.size(1):
            key, value = repeat_heads(key, value, query.size(1) // key.size(1), how.groups, 1)
        if self.how is None:
            logs = self.subject.weights(query, key).detach().double().log()
            eye = torch.eye(logs.size(-1), dtype=logs.dtype, device=logs.device)
            return attention(logs, eye, value.double(), mask, 1.0, how)[0]
        divisor = divisor_value(how, query.size(-1), query.size(-1), query.size(-2))
        divisor = divisor if scale is None else 1 / scale
        return attention(query.double(), key.double(), value.double(), mask, divisor, how)[0]

    def expected_words(self, x: Tensor, mask: Tensor, how: Hypothesis) -> Tensor:
        """Return what the formula gives for tokens that attend to each other."""
        parts, options = self.subject.given(x, mask, x, None)
        made = self.expected(parts, options["attn_mask"], how=how)
        return made[..., self.subject.block - 1 :: self.subject.block, :]

    def near(self, a: Tensor, b: Tensor) -> bool:
        """Tell whether two results are the same up to the function's rounding."""
        return near(a, b, self.subject.tolerance)

    def named(self, inputs: list[Tensor], made: Tensor, mask: Tensor | None = None) -> str:
        """Return which one thing is wrong with a call; `UNKNOWN` if that is not known."""
        ways = one_thing_wrong(self.way) if self.how else ()
        for how in (way for way in ways if _for_functions(way)):
            asked = mask is not None or how.mask == "right"
            if asked and self.near(self.expected(inputs, mask, how=how), made):
                return self.in_words(how)
        return UNKNOWN


def look_at(
    subject: FunctionSubject, softcap: float | None = None, *, backward: bool = True
) -> FunctionInsight:
    """Find what reproduces the plain call, then what the mask does."""
    probe = [part.requires_grad_() for part in subject.inputs()]
    differentiable = backward and subject.attend(*probe).requires_grad
    subject = replace(subject, differentiable=differentiable)
    inside = precision_inside(subject)
    if inside is not None:
        rounding = SINGLE if inside == torch.float32 else 4 * torch.finfo(inside).eps
        subject = replace(subject, tolerance=rounding)
    how = _way(subject, softcap)
    odd = odd_way(subject) if how is None else ""
    insight = FunctionInsight(subject, how, odd, softcap, inside, backward)
    if insight.no_masks:
        return insight
    return _with_masks(insight)


def _with_masks(insight: FunctionInsight) -> FunctionInsight:
    """Return the insight with what a mask does, with as many axes as the function can read."""
    first = _look_at_mask(insight)
    for axes in MASK_AXES[1:] if first.kind == "raised" else ():
        call = insight.subject.how_called
        guesses = (*call.guesses, f"a mask has {axes} axes, since {first.evidence}")
        call = replace(call, mask_axes=axes, guesses=guesses)
        tried = replace(insight, subject=replace(insight.subject, how_called=call))
        behaviour = _look_at_mask(tried)
        if behaviour.kind != "raised":
            return replace(tried, masks=dict.fromkeys(tried.subject.modes, behaviour))
    return replace(insight, masks=dict.fromkeys(insight.subject.modes, first))


def _for_functions(how: Hypothesis) -> bool:
    """Tell whether a way of computing is one of functions, which cut and join no heads."""
    twice = "√num_kv_heads", "√input_dim"  # the same as √num_heads and √head_dim here
    return how.split == how.merge == "heads" and how.divisor not in twice


def _way(subject: FunctionSubject, softcap: float | None) -> Hypothesis | None:
    """Return the right way, or the first that differs in one thing, that gives the numbers."""
    first, large = subject.inputs(), subject.inputs(seed=1)
    large[0] = 4 * large[0]  # scores at which a soft-cap shows
    rounded = torch.finfo(subject.dtype).bits < 32
    calls = [
        (inputs, subject.attend(*inputs)) for inputs in ([first] if rounded else [first, large])
    ]
    ways = [how for how in one_thing_wrong(RIGHT) if _for_functions(how) and how.mask == "right"]
    if subject.plain[0] == subject.plain[1]:
        ways.append(replace(RIGHT, axis="swapped"))
    capped = [replace(how, softcap=softcap) for how in (RIGHT, *ways)] if softcap else []
    for how in (*capped, RIGHT, *ways):
        insight = FunctionInsight(subject, how)
        if all(insight.near(insight.expected(inputs), made) for inputs, made in calls):
            return how
    if (divisor := _divisor(subject)) is not None:
        how = replace(RIGHT, divisor=divisor)
        insight = FunctionInsight(subject, how)
        if all(insight.near(insight.expected(inputs), made) for inputs, made in calls):
            return how
    found = None if rounded else softcap_of(subject)
    return None if found is None else replace(RIGHT, softcap=found)


def _divisor(subject: FunctionSubject) -> float | None:
    """Return the one number that the scores are divided by, if there is one."""
    query, key, _ = subject.inputs()
    logs = subject.weights(query, key).detach().double().log()
    logs = logs - logs.mean(-1, keepdim=True)
    scores = query.double() @ key.double().mT
    scores = scores - scores.mean(-1, keepdim=True)
    factor = (logs * scores).sum() / scores.square().sum()
    return 1 / factor.item() if near(scores * factor, logs, subject.tolerance) and factor else None


def _look_at_mask(insight: FunctionInsight) -> MaskBehaviour:
    """Return what the function does with a boolean mask, and the evidence."""
    subject = insight.subject
    mask = sample_mask(KEYS, subject.device)
    columns = sample_mask(KEYS, subject.device, columns=True)
    try:
        kind = _way_of_masking(insight, mask)
        if kind == "none" and _way_of_masking(insight, columns) == "right":
            return ONE_OF_KEYS
    except SubjectError as error:
        return MaskBehaviour("raised", f"a mask (n, m) raised {error}{_other_mask(insight, mask)}")
    try:
        evidence = pattern_evidence(seen(subject, KEYS, KEYS, mask), mask)
    except SubjectError:  # no gradient, as where an argument is overwritten
        evidence = "no gradient tells which keys are seen"
    return MaskBehaviour(
        kind, evidence if kind == "right" else evidence + _other_mask(insight, mask)
    )


def _way_of_masking(insight: FunctionInsight, mask: Tensor) -> Kind:
    """Return the way of masking that gives the function's numbers."""
    x = insight.subject.words(BATCH, KEYS)
    output = insight.subject.call(x, mask).detach()
    for kind in MASKS:
        if insight.near(insight.expected_words(x, mask, replace(insight.way, mask=kind)), output):
            return kind
    return "unknown"


def _other_mask(insight: FunctionInsight, mask: Tensor) -> str:
    """Say how a mask would have to be meant for the function to be right."""
    subject = insight.subject
    for meant in ("attends", "blocks", "added"):
        if meant == subject.how_called.mask_true:
            continue
        call = replace(subject.how_called, mask_true=meant)
        try:
            other = replace(insight, subject=replace(subject, how_called=call))
            if _way_of_masking(other, mask) == "right":
                return f"; it would be right with mask_true={meant!r}"
        except SubjectError:
            continue
    return ""


def seen(
    subject: FunctionSubject, n: int, m: int, mask: Tensor | None = None, *, causal: bool = False
) -> Tensor:
    """Return (n, m): whether output i depends on key or value j, by gradient or by a change."""
    x, context = subject.words(BATCH, n), subject.words(BATCH, m, seed=1)
    if not subject.differentiable:
        return _changes(subject, x, mask, context, causal=causal)
    strength = influence(subject, x, mask, context, causal=causal).nan_to_num(0.0)
    return strength > 1e-9 * strength.max()


def _changes(
    subject: FunctionSubject, x: Tensor, mask: Tensor | None, context: Tensor, *, causal: bool
) -> Tensor:
    """Return (n, m): whether output i changes with key and value j."""
    before = subject.call(x, mask, context, causal=causal)
    least, columns = 0.1 * subject.tolerance * before.abs().max(), []
    for j in range(context.size(-2)):
        moved = context.clone()
        moved[..., j, :] = -moved[..., j, :]
        change = (subject.call(x, mask, moved, causal=causal) - before).abs()
        columns.append(change.amax((0, 1, 3)) > least)
    return torch.stack(columns, -1)


def precision(insight: FunctionInsight) -> str:
    """Say in which precision the function was judged, if not in float64."""
    said = list(insight.subject.how_called.guesses)
    if insight.inside is not None:
        said.append(
            f"{name_of(insight.inside)} inside: {insight.subject.tolerance:.0e} of the largest is "
            "rounding"
        )
    elif insight.subject.dtype != torch.float64:
        said.append(
            f"judged in {name_of(insight.subject.dtype)}, {insight.subject.tolerance:.0e} of the "
            "largest is rounding"
        )
    return "".join(f"; {one}" for one in said)
