"""Judge a function's gradients, of query, key and value each, against the formula's."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attn_docs.testing.function_insight import FunctionInsight
from attn_docs.testing.function_subject import KEYS, LONG, SINGLE
from attn_docs.testing.function_ways import near
from attn_docs.testing.judgement import Judgement, failed
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import gradients

NAMES = ("query", "key", "value")


def wrong_gradient(insight: FunctionInsight) -> Judgement | None:
    """Judge the gradients of plain, masked and causal calls; None if all are right."""
    if not insight.subject.differentiable:
        return None
    if insight.how is None or insight.root_cause:
        return _against_quotients(insight)
    slack = max(1e-7, 4 * insight.subject.tolerance)
    for said, lengths, mask, options in _calls(insight):
        inputs = insight.subject.inputs(n=lengths[0], m=lengths[1], batch=1, heads=2)
        made = _gradients_of(inputs, lambda parts: insight.subject.attend(*parts, **options))  # noqa: B023
        doubled = [part.double() for part in inputs]
        right = _gradients_of(doubled, lambda parts: insight.expected(parts, mask))  # noqa: B023
        for name, found, expected in zip(NAMES, made, right, strict=True):
            if not near(expected, found, slack):
                error = (found.double() - expected).abs().max() / expected.abs().max()
                return failed(
                    f"{said}: the gradient of the {name} is off by {error:.2g} of its largest "
                    f"number, {_verdicts(made, right, slack)}",
                    lambda: _cause(insight, name, found, expected, doubled, mask),  # noqa: B023
                )
    return None


def _calls(
    insight: FunctionInsight,
) -> Iterator[tuple[str, tuple[int, int], Tensor | None, dict[str, object]]]:
    """Yield each call, in words: its lengths, the mask that it stands for, and its options."""
    subject = insight.subject
    lengths = subject.plain
    yield f"{lengths[0]} queries and {lengths[1]} keys", lengths, None, {}
    many = (LONG[1], LONG[1])
    if not subject.lengths:
        yield f"{many[0]} queries and as many keys", many, None, {}
    square = subject.lengths[0] if subject.lengths else (KEYS, KEYS)
    if "is_causal" in subject.takes and insight.alignment:
        for lengths in (square,) if subject.lengths else (square, many):
            mask = insight.triangle(*lengths)
            yield f"is_causal=True, {lengths[0]} tokens", lengths, mask, {"is_causal": True}
    usable = all(behaviour.kind == "right" for behaviour in insight.masks.values())
    if insight.masks and usable:
        mask = sample_mask(max(square), subject.device)[: square[0], : square[1]]
        yield "with a mask", square, mask, {"attn_mask": mask}


def _gradients_of(inputs: list[Tensor], run: Callable[[list[Tensor]], Tensor]) -> list[Tensor]:
    """Return the gradients of a sum of the outputs, each with a factor of its own."""
    sources = [part.clone().requires_grad_() for part in inputs]
    output = run(sources)
    return gradients((output * _factors(output)).sum(), sources)


def _factors(like: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(like.numel())
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like)


def _verdicts(made: list[Tensor], right: list[Tensor], slack: float) -> str:
    """Say of each input whether its gradient is right."""
    told = (
        f"{name} {'right' if near(expected, found, slack) else 'wrong'}"
        for name, found, expected in zip(NAMES, made, right, strict=True)
    )
    return ", ".join(told)


def _cause(
    insight: FunctionInsight,
    name: str,
    found: Tensor,
    right: Tensor,
    inputs: list[Tensor],
    mask: Tensor | None,
) -> str:
    """Name what is wrong with a gradient."""
    if not found.isfinite().all():
        return f"the gradient of the {name} is not finite"
    if not found.any():
        return f"no gradient reaches the {name}: it is detached, or the backward returns none"
    factor = ((found.double() * right).sum() / right.square().sum()).item()
    if near(factor * right, found, max(1e-6, 4 * insight.subject.tolerance)):
        return (
            f"the backward gives the {name} {factor:.4g} times its gradient: a factor, as the scale"
        )
    if name != "value" and near(
        _without_row_term(insight, inputs, mask)[name == "key"], found, 1e-5
    ):
        return (
            "the backward of the softmax lacks its row term: of the weights' gradients it takes "
            "away their mean, weighted"
        )
    return f"the gradient of the {name} is not the derivative of the output: a wrong backward"


def _without_row_term(
    insight: FunctionInsight, inputs: list[Tensor], mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the gradients of query and key if the softmax were a product with its weights."""
    query, key, value = inputs
    eye = torch.eye(key.size(-2), dtype=key.dtype, device=key.device).expand(*key.shape[:2], -1, -1)
    weights = insight.expected([query, key, eye], mask)
    output = weights @ value
    scores = weights * (_factors(output) @ value.mT) / query.size(-1) ** 0.5
    return scores @ key, scores.mT @ query


def _against_quotients(insight: FunctionInsight) -> Judgement | None:
    """Judge the plain call's gradients by what small steps change: that needs no formula."""
    subject = insight.subject
    if subject.tolerance > SINGLE or insight.root_cause:
        return None
    step, slack = (1e-5, 1e-6) if subject.tolerance < SINGLE else (1e-2, 1e-3)
    inputs = subject.inputs()
    made = _gradients_of(inputs, lambda parts: subject.attend(*parts))
    for place, (name, found) in enumerate(zip(NAMES, made, strict=True)):
        direction = torch.sign(_factors(inputs[place]) - 0.1)
        ends = []
        for sign in (1, -1):
            moved = list(inputs)
            moved[place] = inputs[place] + sign * step * direction
            output = subject.attend(*moved).detach()
            ends.append((output * _factors(output)).sum())
        quotient = ((ends[0] - ends[1]) / (2 * step)).item()
        by_gradient = (found * direction).sum().item()
        if not abs(quotient - by_gradient) <= slack * found.norm() * direction.norm() + slack:
            cause = f"the gradient of the {name} is not the derivative of the output"
            if not found.any():
                cause = f"no gradient reaches the {name}: it is detached"
            return failed(
                f"a step along {name} changes the output by {quotient:.4g} a unit, by gradient "
                f"{by_gradient:.4g}",
                cause,
            )
    return None
