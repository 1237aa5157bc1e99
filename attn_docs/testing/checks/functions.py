"""Checks of functions alone: numbers by the formula, and options that only functions have."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_docs.testing.checks import shared
from attn_docs.testing.checks.chance import ELSEWHERE, NOT_RESCALED, ON_SCORES
from attn_docs.testing.checks.masks import leak_with_mask
from attn_docs.testing.checks.plain import HALVES, attempt, first_wrong
from attn_docs.testing.formula import MASKS, TILED
from attn_docs.testing.function_insight import NOT_PLAIN, UNKNOWN, FunctionInsight, precision, seen
from attn_docs.testing.function_subject import (
    BATCH,
    HEADS,
    KEYS,
    LONG,
    QUERIES,
    FunctionSubject,
)
from attn_docs.testing.function_ways import near
from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped, unknown
from attn_docs.testing.patterns import LENGTH, pattern_evidence, sample_mask, shuffled
from attn_docs.testing.subject import SubjectError, WrongShapeError, seeded


def scale(insight: FunctionInsight) -> Judgement:
    """Scores are divided by √head_dim, or multiplied by `scale`, whatever else is asked for."""
    subject, how = insight.subject, insight.how
    if how is None:
        return unknown("no way of computing that is searched reproduces the output")
    if how.axis != "keys":
        return skipped(f"{insight.root_cause}; mend that first")
    if how.divisor != "√head_dim":
        return failed(insight.root_cause, insight.root_cause)
    if "scale" in subject.takes:
        for said, options, mask in _besides(insight):
            inputs = subject.inputs(**_square(subject)) if options else subject.inputs()
            made, failure = attempt(insight, f"scale=0.3{said}", inputs, scale=0.3, **options)
            if made is None:
                return failure
            right = insight.expected(inputs, mask, scale=0.3)
            if not insight.near(right, made):
                error = (made.double() - right).abs().max()
                return failed(
                    f"scale=0.3{said} gives numbers off by {error:.2e}",
                    _use(insight, inputs, made, mask) + said,
                )
    return passed(f"scores are divided by √{subject.head_dim}")


def _square(subject: FunctionSubject) -> dict[str, int]:
    n, m = subject.lengths[0] if subject.lengths else (KEYS, KEYS)
    return {"n": n, "m": m}


def _besides(
    insight: FunctionInsight,
) -> Iterator[tuple[str, dict[str, Any], Tensor | None]]:
    """Yield what may be asked for besides an option, in words, and the mask it stands for."""
    subject = insight.subject
    n, m = _square(subject).values()
    yield "", {}, None
    if not mask_unfit(insight):
        mask = sample_mask(max(n, m), subject.device)[:n, :m]
        yield " with a mask", {"attn_mask": mask}, mask
    if not insight.no_causal and insight.alignment:
        yield " with is_causal=True", {"is_causal": True}, insight.triangle(n, m)


def _use(insight: FunctionInsight, inputs: list[Tensor], given: Tensor, mask: Tensor | None) -> str:
    """Say what is made of scale=0.3."""
    usual = insight.subject.head_dim**-0.5
    reasons = {
        "the argument scale is ignored": usual,
        "the argument scale divides the scores, expected to multiply them": 1 / 0.3,
        "the argument scale is applied besides 1/√head_dim": 0.3 * usual,
    }
    for reason, factor in reasons.items():
        if insight.near(insight.expected(inputs, mask, scale=factor), given):
            return reason
    return "the argument scale is not the factor on the scores"


def group_order(insight: FunctionInsight) -> Judgement:
    """With fewer key heads, neighbouring query heads share one, whatever else is asked for."""
    subject = insight.subject
    flag: dict[str, Any] = {"enable_gqa": True}
    if "enable_gqa" not in subject.takes:
        try:  # some take fewer heads unasked
            subject.attend(*subject.inputs(kv_heads=2))
        except SubjectError:
            return skipped("the function takes no enable_gqa, and no other number of key heads")
        flag = {}
    for kv_heads in (2, 1):
        for said, options, mask in _with_scale(insight):
            inputs = subject.inputs(**_square(subject), kv_heads=kv_heads)
            said = f"{kv_heads} key heads for {HEADS} query heads{said}"  # noqa: PLW2901
            made, failure = attempt(insight, said, inputs, **options, **flag)
            if made is None:
                return failure
            right = insight.expected(inputs, mask, scale=options.get("scale"))
            if not insight.near(right, made):
                error = (made.double() - right).abs().max()
                tell = _use if "scale" in options else _tiling
                return failed(f"{said}: off by {error:.2e}", tell(insight, inputs, made, mask))
    unasked = "" if flag else ", unasked"
    return passed(f"2 key heads serve {HEADS} query heads in a row{unasked}")


def _with_scale(
    insight: FunctionInsight,
) -> Iterator[tuple[str, dict[str, Any], Tensor | None]]:
    yield from _besides(insight)
    if "scale" in insight.subject.takes and insight.how is not None:
        yield " and scale=0.3", {"scale": 0.3}, None


def _tiling(
    insight: FunctionInsight, inputs: list[Tensor], made: Tensor, mask: Tensor | None
) -> str:
    """Name the order in which query heads are matched with key heads."""
    for groups, text in TILED.items():
        if insight.near(
            insight.expected(inputs, mask, how=replace(insight.way, groups=groups)), made
        ):
            return text
    named = insight.named(inputs, made, mask)
    return named if named != UNKNOWN else "query heads are matched with the wrong key heads"


def causality(insight: FunctionInsight) -> Judgement:
    """With is_causal=True no output depends on a later key, and the numbers are the formula's."""
    if insight.no_causal:
        return skipped(insight.no_causal)
    subject = insight.subject
    for length in (2, 3, KEYS):
        found = seen(subject, length, length, causal=True)
        wanted = torch.ones_like(found).tril()
        if not torch.equal(found, wanted):
            whole = seen(subject, KEYS, KEYS, causal=True)
            evidence = f"length {length}: {_seen_instead(found, wanted)}"
            return failed(evidence, lambda: _pattern_cause(insight, whole))  # noqa: B023
    for mode in subject.modes:
        if leak := leak_with_mask(insight, mode):
            return leak
    return _misaligned(insight) or _causal_numbers(insight) or passed(_hidden(insight))


def _hidden(insight: FunctionInsight) -> str:
    hidden = "no output depends on a later key"
    if insight.subject.plain[0] == insight.subject.plain[1]:
        return hidden
    which = insight.alignment
    return f"{hidden}; with 3 queries and 5 keys the {which} query is level with the {which} key"


def _causal_numbers(insight: FunctionInsight) -> Judgement | None:
    """Judge the numbers with is_causal, at several lengths; None if they are right."""
    subject = insight.subject
    pairs = [(KEYS, KEYS), (1, 1), (LONG[1], LONG[1])]
    if not subject.square:
        pairs += [(QUERIES, KEYS), (1, KEYS), LONG]
    for n, m in subject.lengths or pairs:
        inputs = subject.inputs(n=n, m=m, batch=1, heads=2)
        said, mask = f"is_causal=True, {n} queries and {m} keys", insight.triangle(n, m)
        made, failure = attempt(insight, said, inputs, is_causal=True)
        if made is None:
            return failure
        right = insight.expected(inputs, mask)
        if not insight.near(right, made):
            off = (made.double() - right).abs().max()
            return failed(
                f"{said}: off by {off:.2e}",
                lambda: _causal_cause(insight, inputs, made, mask),  # noqa: B023
            )
    return None


def _causal_cause(
    insight: FunctionInsight, inputs: list[Tensor], made: Tensor, mask: Tensor
) -> str:
    """Name what is wrong with the numbers of a causal call."""
    named = insight.named(inputs, made, mask)
    if named != UNKNOWN:
        return f"with is_causal=True, {named}"
    n, m = mask.shape
    other = torch.ones_like(mask).tril(0 if insight.alignment == "last" else m - n)
    if n != m and insight.near(insight.expected(inputs, other), made):
        return (
            f"the causal mask of 3 queries and 5 keys is aligned with the {insight.alignment} key, "
            f"that of {n} and {m} with the other end"
        )
    return _at_length(insight, "is_causal", is_causal=True) or named


def _seen_instead(found: Tensor, wanted: Tensor) -> str:
    """Say how a causal pattern is wrong, on the diagonal if nowhere else."""
    own = (found.diagonal() != wanted.diagonal()).nonzero().flatten().tolist()
    if own and torch.equal(found.tril(-1), wanted.tril(-1)) and not found.triu(1).any():
        return f"query {own[0]} does not see its own key"
    return pattern_evidence(found, wanted)


def _pattern_cause(insight: FunctionInsight, whole: Tensor) -> str:
    """Name why a later key is seen: the wrong triangle, or one that is applied wrongly."""
    named = _triangle(whole)
    if named not in (NOT_APPLIED, NO_TRIANGLE):
        return named
    inputs = insight.subject.inputs(**_square(insight.subject))
    made = insight.subject.attend(*inputs, is_causal=True).detach()
    if insight.near(insight.subject.attend(*inputs), made):
        return NOT_APPLIED
    mask = torch.ones(made.size(-2), inputs[1].size(-2), dtype=torch.bool).tril()
    way = insight.named(inputs, made, mask.to(made.device))
    if way != UNKNOWN:
        return f"with is_causal=True, {way}"
    if named == NO_TRIANGLE:
        return named
    return "later keys still count with is_causal=True, which changes them: fill too small or late"


NOT_APPLIED = "the causal mask is not applied"
NO_TRIANGLE = "the causal mask is no lower triangle"


def _triangle(found: Tensor) -> str:
    """Name the pattern of a causal mask that is wrong."""
    ones, first = torch.ones_like(found), torch.zeros_like(found)
    first[0, 0] = True
    hides_itself = "the causal mask is off by one: a position does not see itself"
    named = {
        NOT_APPLIED: ones,
        "the causal mask is inverted: it keeps the future and removes the past": ones.triu(),
        "the causal mask is inverted, and removes a position's own key": ones.triu(1),
        "the causal mask is off by one: a position sees the next one": ones.tril(1),
        hides_itself: ones.tril(-1) | (first & found),
    }
    return next(
        (name for name, pattern in named.items() if torch.equal(found, pattern)),
        NO_TRIANGLE,
    )


def _misaligned(insight: FunctionInsight) -> Judgement | None:
    """Judge with which key the first of fewer queries is level; None if with either end."""
    if insight.alignment:
        return None
    found = seen(insight.subject, 3, 5, causal=True)
    return failed(
        f"3 queries and 5 keys: {pattern_evidence(found, torch.ones_like(found).tril())}",
        "with fewer queries than keys the causal mask is aligned with neither end",
    )


def mask_axes(insight: FunctionInsight) -> Judgement:
    """A mask may differ between samples and between heads, as its axes say."""
    if mask_unfit(insight):
        return passed("")  # another property says why
    subject, call = insight.subject, insight.subject.how_called
    n, m = _square(subject).values()
    inputs = subject.inputs(n=n, m=m)
    sizes = [(1, 1), (BATCH, 1), (1, HEADS), (BATCH, HEADS)]
    if call.layout == "hnd" or call.mask_axes == 3:
        sizes = [(BATCH, HEADS)] if call.layout == "hnd" else [(BATCH, 1)]
    for batch, heads in sizes:
        generator = torch.Generator().manual_seed(10 * batch + heads)
        mask = torch.rand(batch, heads, n, m, generator=generator) < 0.6
        mask[..., 0] = True
        mask = mask.to(subject.device)
        said = f"a mask of shape {tuple(mask.shape)}"
        made, failure = attempt(insight, said, inputs, attn_mask=mask)
        if made is None:
            return failure
        right = insight.expected(inputs, mask)
        if not insight.near(right, made):
            off = (made.double() - right).abs().max()
            return failed(f"{said}: off by {off:.2e}", "the masks of samples or heads are mixed up")
    return passed("also with a mask for each sample and head")


def permutation(insight: FunctionInsight) -> Judgement:
    """Shuffled tokens give shuffled outputs; shuffled pairs of key and value change nothing."""
    judgement = shared.permutation(insight)
    if judgement.verdict != "pass":
        return judgement
    subject = insight.subject
    x, context = subject.words(1, LENGTH), subject.words(1, LENGTH, seed=1)
    order = shuffled(LENGTH, subject.device)
    made = subject.call(x, context=context[..., order, :])
    error = (made - subject.call(x, context=context)).abs().max().item()
    return judge(
        error <= subject.tolerance,
        f"{judgement.evidence}; shuffled pairs of key and value change it by {error:.1e}",
    )


def lengths(insight: FunctionInsight) -> Judgement:
    """Queries and keys of different number, values of another size, and a mask for them."""
    subject = insight.subject
    pairs = [pair for pair in subject.lengths if pair[0] != pair[1]]
    if subject.lengths and not pairs:
        return skipped("the lengths told are of as many queries as keys")
    for n, m in pairs or ((QUERIES, KEYS), (KEYS, QUERIES), LONG, LONG[::-1]):
        said, inputs = f"{n} queries and {m} keys", subject.inputs(n=n, m=m, batch=1)
        try:
            subject.attend(*inputs)
        except WrongShapeError as error:
            return failed(f"{said} gave shape {error.shape}", "queries and keys are swapped")
        except SubjectError as error:
            cause = "the length of the queries is used for the keys"
            return failed(f"{said} raised {error}", cause)
        if not mask_unfit(insight) and (wrong := _masked(insight, said, inputs)):
            return wrong
    return passed(f"{QUERIES} queries and {KEYS} keys, and the reverse")


def _masked(insight: FunctionInsight, said: str, inputs: list[Tensor]) -> Judgement | None:
    """Judge a mask for some lengths; None if it does what it should."""
    subject = insight.subject
    n, m = inputs[0].size(-2), inputs[1].size(-2)
    mask = sample_mask(max(n, m), subject.device)[:n, :m]
    made, failure = attempt(insight, f"{said}, with a mask", inputs, attn_mask=mask)
    if made is None:
        return failure
    right = insight.expected(inputs, mask)
    if insight.near(right, made):
        return None
    cause = "the mask is right for as many queries as keys, and for no other number"
    return failed(
        f"{said}, with a mask: off by {(made.double() - right).abs().max():.2e}",
        lambda: _at_length(insight, "a mask", attn_mask=mask) or cause,
    )


def _at_length(insight: FunctionInsight, what: str, **options: Any) -> str:
    """Name the number of tokens from which a call is wrong; empty if none is found."""
    if insight.subject.lengths:
        return ""

    def right(parts: list[Tensor]) -> Tensor:
        length = parts[0].size(-2)
        mask = sample_mask(length, insight.subject.device)
        return insight.expected(
            parts, insight.triangle(length, length) if "is_causal" in options else mask
        )

    named = first_wrong(insight, right, **options)
    return f"with {what}, {named}" if named else ""


DROPPED = 0.25


def dropout(insight: FunctionInsight) -> Judgement:
    """With dropout_p, weights are dropped and the rest grow, also with a mask or is_causal."""
    subject = insight.subject
    if "dropout_p" not in subject.takes:
        return skipped("the function takes no dropout_p")
    if not insight.is_attention:
        return skipped(NOT_PLAIN)
    query, key, _ = subject.inputs(**_square(subject))
    judgement = passed("")
    for said, options, mask in _besides(insight):
        plain = subject.weights(query, key, **options).detach().double()
        seeded(0, subject.device)
        draws = [
            subject.weights(query, key, dropout_p=DROPPED, **options).detach() for _ in range(4)
        ]
        drawn = torch.stack(draws).double()
        allowed = (
            torch.ones_like(plain, dtype=torch.bool) if mask is None else mask.expand_as(plain)
        )
        if drawn[:, ~allowed].any():
            return failed(
                f"dropout_p={DROPPED}{said}: what is masked gets a weight of "
                f"{drawn[:, ~allowed].abs().max():.2g}",
                "the mask is lost when dropout_p is given",
            )
        judgement = _dropped(
            (drawn / plain)[:, allowed & (plain != 0)], drawn.sum(-1), subject.tolerance
        )
        if judgement.verdict != "pass":
            return replace(judgement, evidence=judgement.evidence + said)
    return judgement


def _dropped(ratio: Tensor, sums: Tensor, tolerance: float) -> Judgement:
    """Judge by the ratio of weights to what they are without dropout, and by their sums."""
    slack = max(1e-6, 10 * tolerance)
    if near(ratio, torch.ones_like(ratio), tolerance):
        return failed(f"dropout_p={DROPPED} changes nothing", "the argument dropout_p is ignored")
    dropped = ratio.abs() < 1e-6
    kept, share = ratio[~dropped], dropped.double().mean().item()
    if dropped.any() and near(kept, torch.full_like(kept, 1 / (1 - DROPPED)), slack):
        return judge(
            0.15 < share < 0.35,
            f"dropout_p={DROPPED} drops {share:.0%}, the rest grow by 4/3",
            "another share is dropped than asked for",
        )
    reason = ELSEWHERE
    if near(sums, torch.ones_like(sums), slack):
        reason = ON_SCORES
    elif dropped.any() and near(kept, torch.ones_like(kept), slack):
        reason = NOT_RESCALED
    return failed(f"weights are {ratio.min():.3g} to {ratio.max():.3g} times those without", reason)


LARGE_SCORE = 80_000  # too large for float16, and divided by √2 or more no longer


def half_precision(insight: FunctionInsight) -> Judgement:
    """In float16 the output is finite and close to float64's; say how large scores may be."""
    if insight.subject.dtype in HALVES:
        return passed(f"all of this report is judged{precision(insight).removeprefix('; judged')}")
    judgement = shared.half_precision(insight)
    if judgement.verdict != "pass" or re.search(r"\bfloat16 raised", judgement.evidence):
        return judgement
    half = replace(insight.subject, dtype=torch.float16)
    query, key, value = half.inputs(**_square(half))
    size = (LARGE_SCORE / query.size(-1)) ** 0.5  # of each component: then all scores are so large
    large = half.attend(torch.full_like(query, size), torch.full_like(key, size), value)
    limit = (
        "scores above 65504 before the scale stay finite"
        if large.isfinite().all()
        else "scores above 65504 before the scale overflow: compute them in float32"
    )
    return passed(f"{judgement.evidence}; {limit}")


def documents_mixed(insight: FunctionInsight) -> str:
    """Return why documents in one row see each other, in spite of a mask."""
    columns = any(behaviour.kind == "columns" for behaviour in insight.masks.values())
    return MASKS["columns"] if columns else "documents in one row see each other"
