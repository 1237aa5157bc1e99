"""Checks of functions alone: numbers by the formula, and options that only functions have."""

from dataclasses import replace

import torch
from torch import Tensor

from attn_docs.testing.checks import shared
from attn_docs.testing.checks.chance import ELSEWHERE, NOT_RESCALED, ON_SCORES
from attn_docs.testing.checks.masks import leak_with_mask
from attn_docs.testing.formula import MASKS, TILED
from attn_docs.testing.function_insight import (
    RIGHT,
    FunctionInsight,
    by_formula,
    identity,
    near,
    seen,
)
from attn_docs.testing.function_subject import HEAD_DIM, KEYS, QUERIES, FunctionSubject
from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped, unknown
from attn_docs.testing.patterns import pattern_evidence, sample_mask
from attn_docs.testing.subject import SubjectError, WrongShapeError, seeded
from attn_docs.testing.wrongs import normalised_over


def oracle(insight: FunctionInsight) -> Judgement:
    """Plain calls of several shapes agree with the formula."""
    subject, worst = insight.subject, 0.0
    lengths = ((QUERIES, KEYS), (KEYS, QUERIES), (1, KEYS), (KEYS, 1))
    for n, m in ((KEYS, KEYS),) if subject.square else lengths:
        inputs = subject.inputs(n=n, m=m)
        error = (subject.attend(*inputs) - by_formula(inputs)).abs().max().item()
        if not error <= 1e-9:
            evidence = f"{n} queries and {m} keys: off by {error:.2e}"
            return failed(evidence, insight.root_cause)
        worst = max(worst, error)
    return passed(f"the formula's numbers within {worst:.1e}")


def scale(insight: FunctionInsight) -> Judgement:
    """Scores are divided by √head_dim, or multiplied by `scale`."""
    subject, how = insight.subject, insight.how
    if how is None:
        return unknown("no way of computing that is searched reproduces the output")
    if how.axis != "keys":
        return skipped(f"{insight.root_cause}; mend that first")
    if how.divisor != "√head_dim":
        return failed(insight.root_cause, insight.root_cause)
    if "scale" in subject.takes:
        inputs = subject.inputs()
        given = subject.attend(*inputs, scale=0.3)
        error = (given - by_formula(inputs, scale=0.3)).abs().max()
        if not error <= 1e-9:
            return failed(f"scale=0.3 gives numbers off by {error:.2e}", _use(inputs, given))
    return passed(f"scores are divided by √{HEAD_DIM}")


def _use(inputs: list[Tensor], given: Tensor) -> str:
    """Say what is made of scale=0.3."""
    reasons = {
        "the argument scale is ignored": HEAD_DIM**-0.5,
        "the argument scale divides the scores, expected to multiply them": 1 / 0.3,
        "the argument scale is applied besides 1/√head_dim": 0.3 * HEAD_DIM**-0.5,
    }
    for reason, factor in reasons.items():
        if near(by_formula(inputs, scale=factor), given):
            return reason
    return "the argument scale is not the factor on the scores"


def weights(insight: FunctionInsight) -> Judgement:
    """With the identity as values, the output is the weights: rows sum to 1."""
    query, key, _ = insight.subject.inputs()
    made = insight.subject.attend(query, key, identity(insight.subject))
    off = {dim: (made.sum(dim) - 1).abs().max().item() for dim in (-1, -2, 1)}
    if off[-1] <= 1e-9 and made.min() >= 0:
        return passed(f"rows sum to 1 within {off[-1]:.1e}")
    reason = "the weights are no distribution over the keys"
    if off[-2] <= 1e-9:
        reason = normalised_over("queries")
    elif off[1] <= 1e-9:
        reason = normalised_over("heads")
    sums = made.sum(-1)
    return failed(f"rows sum to between {sums.min():.3g} and {sums.max():.3g}", reason)


def group_order(insight: FunctionInsight) -> Judgement:
    """With fewer key heads, neighbouring query heads share one."""
    subject = insight.subject
    if "enable_gqa" not in subject.takes:
        return skipped("the function takes no enable_gqa")
    inputs = subject.inputs(kv_heads=2)
    try:
        output = subject.attend(*inputs, enable_gqa=True)
    except SubjectError as error:
        return skipped(f"enable_gqa=True raised {error}")
    right = replace(insight.how or RIGHT, num_kv_heads=2)
    expected = by_formula(inputs, how=right)
    if near(expected, output):
        return passed("2 key heads serve 4 query heads in a row")
    reason = "query heads are matched with the wrong key heads"
    for groups, text in TILED.items():
        if near(by_formula(inputs, how=replace(right, groups=groups)), output):
            reason = text
    return failed(f"off by {(expected - output).abs().max():.2e}", reason)


def causality(insight: FunctionInsight) -> Judgement:
    """With is_causal=True no output depends on a later key."""
    if insight.no_causal:
        return skipped(insight.no_causal)
    subject = insight.subject
    for length in (2, 3, KEYS):
        found = seen(subject, length, length, causal=True)
        wanted = torch.ones_like(found).tril()
        if not torch.equal(found, wanted):
            whole = seen(subject, KEYS, KEYS, causal=True)
            evidence = f"length {length}: {pattern_evidence(found, wanted)}"
            return failed(evidence, _triangle(whole))
    for mode in subject.modes:
        if leak := leak_with_mask(insight, mode):
            return leak
    hidden = "no output depends on a later key"
    return passed(hidden) if subject.square else _aligned(subject, hidden)


def _triangle(found: Tensor) -> str:
    """Name the pattern of a causal mask that is wrong."""
    ones = torch.ones_like(found)
    named = {
        "the causal mask is not applied": ones,
        "the causal mask is inverted: it keeps the future and removes the past": ones.triu(),
        "the causal mask is inverted, and removes a position's own key": ones.triu(1),
        "the causal mask is off by one: a position sees the next one": ones.tril(1),
        "the causal mask is off by one: a position does not see itself": ones.tril(-1),
    }
    return next(
        (name for name, pattern in named.items() if torch.equal(found, pattern)),
        "the causal mask is no lower triangle",
    )


def _aligned(subject: FunctionSubject, hidden: str) -> Judgement:
    """Judge with which key the first of fewer queries is level."""
    found = seen(subject, 3, 5, causal=True)
    ones = torch.ones_like(found)
    aligned = {"first": ones.tril(), "last": ones.tril(2)}
    for which, wanted in aligned.items():
        if torch.equal(found, wanted):
            return passed(
                f"{hidden}; with 3 queries and 5 keys the {which} query is level with the {which} "
                "key"
            )
    return failed(
        f"3 queries and 5 keys: {pattern_evidence(found, aligned['first'])}",
        "with fewer queries than keys the causal mask is aligned with neither end",
    )


def permutation(insight: FunctionInsight) -> Judgement:
    """Shuffled words give shuffled outputs; shuffled pairs of key and value change nothing."""
    judgement = shared.permutation(insight)
    if judgement.verdict != "pass":
        return judgement
    subject = insight.subject
    query, key, value = subject.inputs()
    order = torch.tensor([3, 0, 5, 1, 6, 4, 2], device=subject.device)
    shuffled = subject.attend(query, key[..., order, :], value[..., order, :])
    error = (shuffled - subject.attend(query, key, value)).abs().max().item()
    return judge(
        error <= subject.tolerance,
        f"{judgement.evidence}; shuffled pairs of key and value change it by {error:.1e}",
    )


def lengths(insight: FunctionInsight) -> Judgement:
    """Queries and keys of different number, values of another size, and a mask for them."""
    subject = insight.subject
    for n, m in ((QUERIES, KEYS), (KEYS, QUERIES)):
        evidence, inputs = f"{n} queries and {m} keys", subject.inputs(n=n, m=m)
        try:
            subject.attend(*inputs)
        except WrongShapeError as error:
            return failed(f"{evidence} gave shape {error.shape}", "queries and keys are swapped")
        except SubjectError as error:
            cause = "the length of the queries is used for the keys"
            return failed(f"{evidence} raised {error}", cause)
        if not mask_unfit(insight):
            mask = sample_mask(KEYS, subject.device)[:n, :m]
            off = (subject.attend(*inputs, attn_mask=mask) - by_formula(inputs, mask)).abs().max()
            if not off <= subject.tolerance:
                cause = "the mask is right for as many queries as keys, and for no other number"
                return failed(f"{evidence}, with a mask: off by {off:.2e}", cause)
    return passed(f"{QUERIES} queries and {KEYS} keys, and the reverse")


DROPPED = 0.25


def dropout(insight: FunctionInsight) -> Judgement:
    """With dropout_p, weights are dropped and the rest grow."""
    subject = insight.subject
    if "dropout_p" not in subject.takes:
        return skipped("the function takes no dropout_p")
    query, key, _ = subject.inputs()
    values = identity(subject)
    plain = subject.attend(query, key, values)
    seeded(0, subject.device)
    weights = torch.stack([subject.attend(query, key, values, dropout_p=DROPPED) for _ in range(8)])
    return _dropped(weights / plain, weights.sum(-1))


def _dropped(ratio: Tensor, sums: Tensor) -> Judgement:
    """Judge by the ratio of weights to what they are without dropout, and by their sums."""
    if near(ratio, torch.ones_like(ratio)):
        return failed(f"dropout_p={DROPPED} changes nothing", "the argument dropout_p is ignored")
    dropped = ratio.abs() < 1e-6
    kept, share = ratio[~dropped], dropped.double().mean().item()
    if dropped.any() and near(kept, torch.full_like(kept, 1 / (1 - DROPPED)), 1e-6):
        return judge(
            0.15 < share < 0.35,
            f"dropout_p={DROPPED} drops {share:.0%}, the rest grow by 4/3",
            "another share is dropped than asked for",
        )
    reason = ELSEWHERE
    if near(sums, torch.ones_like(sums), 1e-6):
        reason = ON_SCORES
    elif dropped.any() and near(kept, torch.ones_like(kept), 1e-6):
        reason = NOT_RESCALED
    return failed(f"weights are {ratio.min():.3g} to {ratio.max():.3g} times those without", reason)


def half_precision(insight: FunctionInsight) -> Judgement:
    """In float16 the output is finite and close to float64's; say how large scores may be."""
    judgement = shared.half_precision(insight)
    if judgement.verdict != "pass":
        return judgement
    half = insight.subject.to(torch.float16)
    query, key, value = half.inputs(n=KEYS)
    large = half.attend((30 * query).abs(), (30 * key).abs(), value)
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
