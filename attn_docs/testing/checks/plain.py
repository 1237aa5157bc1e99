"""Checks of a function's plain calls: numbers and gradients by the formula, weights, sizes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_docs.testing.checks import shared
from attn_docs.testing.checks.gradients import wrong_gradient
from attn_docs.testing.function_insight import UNKNOWN, FunctionInsight, precision
from attn_docs.testing.function_subject import KEYS, LONG, QUERIES, FunctionSubject, name_of
from attn_docs.testing.function_ways import NOT_A_SUM
from attn_docs.testing.judgement import Judgement, failed, passed, unknown
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import SubjectError, WrongShapeError, gradients
from attn_docs.testing.wrongs import normalised_over

HALVES = (torch.float16, torch.bfloat16)


def oracle(insight: FunctionInsight) -> Judgement:
    """Plain calls of several shapes agree with the formula, and so do their gradients."""
    subject, how = insight.subject, insight.how
    if insight.odd == NOT_A_SUM and (mixed := _mixed(insight, subject.inputs())):
        return mixed
    if insight.root_cause:
        return failed(f"{smallest(insight)}{precision(insight)}", insight.root_cause)
    if insight.inside in HALVES:
        name = name_of(insight.inside)
        return failed(
            f"given float64, it errs as {name} does",
            f"precision is lost inside; if {name} is meant, say dtype=torch.{name}",
        )
    worst = 0.0
    for said, call in _plain_calls(subject):
        found = _judge_plain(insight, said, call)
        if isinstance(found, Judgement):
            return found
        worst = max(worst, found)
    if wrong := wrong_gradient(insight) or _unread(insight) or _no_gradient(insight):
        return wrong
    if how is None:
        return unknown(f"{UNKNOWN}: {smallest(insight)}{precision(insight)}")
    if how.softcap != insight.softcap:
        return unknown(
            f"the formula's numbers within {worst:.1e} with a soft-cap of {how.softcap:.4g}: say "
            f"softcap={how.softcap:.4g} if that is meant{precision(insight)}"
        )
    return passed(f"the formula's numbers within {worst:.1e}{precision(insight)}")


def _plain_calls(subject: FunctionSubject) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the sizes of each plain call, in words: unusual ones, and beyond a block of keys."""
    pairs = [(QUERIES, KEYS), (KEYS, QUERIES), (1, KEYS), (KEYS, 1), (1, 1), (2, 3), (3, 2)]
    pairs += [(8, 17), LONG, LONG[::-1]]
    if subject.square:
        pairs = [(n, n) for n in (KEYS, 1, 2, 3, 8, 17, LONG[1])]
    for n, m in subject.lengths or pairs:
        sizes = {"n": n, "m": m}
        if max(n, m) > KEYS and not subject.lengths:
            sizes |= {"batch": 1, "heads": 2}
        yield f"{n} queries and {m} keys", sizes
    n, m = subject.plain
    yield f"a batch of one, {n} queries and {m} keys", {"n": n, "m": m, "batch": 1}


def _judge_plain(insight: FunctionInsight, said: str, sizes: dict[str, int]) -> Judgement | float:
    """Return the error of a plain call, or that it is too large."""
    subject = insight.subject
    inputs = subject.inputs(**sizes)
    made, failure = attempt(insight, said, inputs)
    if made is None:
        return failure
    if insight.how is None:
        return _by_itself(insight, said, inputs, made)
    right = insight.expected(inputs)
    if not insight.near(right, made):
        off = (made.double() - right).abs().max().item()
        return failed(f"{said}: off by {off:.2e}", lambda: _from_length(insight, inputs, made))
    strided = replace(subject, how_called=replace(subject.how_called, strided=True))
    again, failure = attempt(insight, f"{said}, tensors that are not contiguous", inputs, strided)
    if again is None:
        return failure
    if not insight.near(right, again):
        return failed(
            f"{said}: off by {(again.double() - right).abs().max():.2e} where tensors are not "
            "contiguous",
            "the strides of the tensors are not respected: a view of memory for their shape",
        )
    return (made.double() - right).abs().max().item()


def attempt(
    insight: FunctionInsight,
    said: str,
    inputs: list[Tensor],
    subject: FunctionSubject | None = None,
    **options: Any,
) -> tuple[Tensor | None, Judgement]:
    """Return what a call gives, or none and that it raised."""
    try:
        return (subject or insight.subject).attend(*inputs, **options).detach(), passed("")
    except WrongShapeError as error:
        return None, failed(f"{said} gave shape {error.shape}", "queries and keys are swapped")
    except SubjectError as error:
        return None, failed(f"{said} raised {error}", "the call raises an exception")


def _by_itself(
    insight: FunctionInsight, said: str, inputs: list[Tensor], made: Tensor
) -> Judgement | float:
    """Judge a call without a formula by parts of it: what is the same in any attention."""
    subject, (query, key, value) = insight.subject, inputs
    if subject.lengths:
        return 0.0
    if mixed := _mixed(insight, inputs):
        return mixed
    if key.size(-2) <= KEYS or shared.permutation(insight).verdict != "pass":
        return 0.0
    order = torch.arange(key.size(-2) - 1, -1, -1, device=subject.device)
    shuffled = subject.attend(query, key[..., order, :], value[..., order, :])
    if not insight.near(made, shuffled):
        off = (made - shuffled).abs().max().item()
        return failed(
            f"{said}: turning keys and values round changes the output by {off:.2e}",
            "what a key counts depends on where it stands: blocks are joined wrongly, or masked",
        )
    return 0.0


def _mixed(insight: FunctionInsight, inputs: list[Tensor]) -> Judgement | None:
    """Judge whether a head comes out as it does alone; None if it does."""
    made = insight.subject.attend(*inputs)
    for head in range(made.size(1)):
        alone = insight.subject.attend(*(part[:, head : head + 1] for part in inputs))
        if not insight.near(made[:, head : head + 1], alone):
            return failed(
                f"head {head} of {made.size(1)} differs from the same head alone",
                "heads are mixed: one takes the queries, keys or values of another",
            )
    return None


def _unread(insight: FunctionInsight) -> Judgement | None:
    """Judge whether each number of query, key and value is read, by gradient."""
    subject = insight.subject
    if insight.how is not None or not subject.differentiable:
        return None
    inputs = [part.requires_grad_() for part in subject.inputs()]
    found = gradients(subject.attend(*inputs).square().sum(), inputs)
    for name, gradient in zip(("query", "key", "value"), found, strict=True):
        unread = (gradient.abs().amax((0, 1, 2)) == 0).nonzero().flatten().tolist()
        if unread and len(unread) < gradient.size(-1):
            return failed(
                f"numbers {unread} of the {gradient.size(-1)} of a {name} change nothing",
                f"part of each {name} is cut off",
            )
    return None


def _from_length(insight: FunctionInsight, inputs: list[Tensor], made: Tensor) -> str:
    """Name what is wrong with a plain call that is right at other lengths."""
    named = insight.named(inputs, made)
    if named != UNKNOWN or insight.subject.lengths:
        return named
    return first_wrong(insight, insight.expected) or named


def first_wrong(
    insight: FunctionInsight, right: Callable[[list[Tensor]], Tensor], **options: Any
) -> str:
    """Name the smallest number of tokens at which a call is wrong; empty if none is found."""
    subject = insight.subject
    for length in range(1, LONG[1] + 1):
        inputs = subject.inputs(n=length, m=length, batch=1, heads=2)
        inputs[1][..., -1, :] *= 4  # that the last key raises the maximum
        given = dict(options)
        if isinstance(given.get("attn_mask"), Tensor):
            given["attn_mask"] = sample_mask(length, subject.device)
        made = subject.attend(*inputs, **given).detach()
        if insight.near(right(inputs), made):
            continue
        if not made.isfinite().all():
            return f"numbers that are not finite at {length} tokens"
        if length > 1:
            return (
                f"right up to {length - 1} tokens, wrong from {length}: blocks of {length - 1} are "
                "joined wrongly, as without rescaling sums to a common maximum, or masked wrongly"
            )
        break
    return ""


def _no_gradient(insight: FunctionInsight) -> Judgement | None:
    if insight.subject.differentiable or not insight.backward:
        return None
    return failed(
        "the output requires no gradient though query, key and value do",
        "no gradient flows back: torch.no_grad, detach or a kernel without a backward; for a "
        "kernel of inference say backward=False",
    )


def smallest(insight: FunctionInsight) -> str:
    """Say what one query makes of two keys, and what the formula makes of them."""
    subject = insight.subject
    n, m = (1, 2)
    if subject.lengths or subject.square:
        n, m = subject.lengths[0] if subject.lengths else (2, 2)
    for seed in range(8):  # as many as show a difference
        query, key, _ = subject.inputs(n=n, m=m, heads=1, batch=1, seed=seed)
        query = (1 + seed) * query
        try:
            made = subject.weights(query, key)[0, 0, 0, :2].detach().double()
        except SubjectError as error:
            return f"1 head, {n} queries and {m} keys raised {error}"
        scores = (query.double() @ key.double().mT)[0, 0, 0]
        right = (scores / subject.head_dim**0.5).softmax(-1)[:2]
        if not insight.near(right, made):
            break
    else:
        return "1 head and 2 keys show no difference"
    return (
        f"for scores {_numbers(scores[:2])} before the scale the first weights are "
        f"{_numbers(made)}, by the formula {_numbers(right)}"
    )


def _numbers(numbers: Tensor) -> str:
    return "(" + ", ".join(f"{number:.4g}" for number in numbers.tolist()) + ")"


def weights(insight: FunctionInsight) -> Judgement:
    """With ones and zeros as values, the output is the weights: rows sum to 1."""
    subject = insight.subject
    inputs = subject.inputs()
    made = subject.weights(*inputs[:2]).detach().double()
    off = {dim: (made.sum(dim) - 1).abs().max().item() for dim in (-1, -2, 1)}
    least = made.min().item()
    if off[-1] <= subject.tolerance and least >= -subject.tolerance:
        output = subject.attend(*inputs).detach()
        if insight.near(made @ inputs[2].double(), output):
            return passed(f"rows sum to 1 within {off[-1]:.1e}, and the output is their sum")
        return failed("the output differs from the weights times the values", NOT_A_SUM)
    reason = insight.odd or "the weights are no distribution over the keys"
    if off[-2] <= subject.tolerance:
        reason = normalised_over("queries")
    elif off[1] <= subject.tolerance:
        reason = normalised_over("heads")
    sums = made.sum(-1)
    if not insight.odd and (sums - sums[0, 0, 0]).abs().max() <= subject.tolerance:
        reason = f"each row sums to {sums[0, 0, 0]:.4g}: the output is multiplied, or added to"
    below = f"; the smallest weight is {least:.3g}" if least < 0 else ""
    return failed(f"rows sum to between {sums.min():.6g} and {sums.max():.6g}{below}", reason)
