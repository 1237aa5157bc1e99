"""The check of gradients: autograd's against what the output does when a source is moved."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attn_docs.testing.checks.paths import Call, calls
from attn_docs.testing.insight import Insight
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.subject import Subject, SubjectError, declines_context, gradients

STEPS = {torch.float64: 1e-3, torch.float32: 1e-2}  # large, since a softmax may be in float32
NEAR = 0.02  # how far the two may lie apart, of the larger
LEAST = 0.01  # of the output: what changes it by less is not told from rounding
TRIES = range(2)  # one step may cross the corner of a ReLU, two hardly
CUT = "the gradient is cut, as by detach() or no_grad(), or the backward forgets this part"
WRONG = (
    "the backward is not the forward's; a straight-through estimator would do that by design: "
    "waive it"
)


@dataclass(frozen=True)
class Slope:
    """How fast an output changes when a source moves in a random direction."""

    name: str
    by_autograd: float
    by_moving: float
    size: float  # what such a number may come to

    @property
    def wrong(self) -> bool:
        """Whether autograd says something else than what is seen."""
        off = abs(self.by_autograd - self.by_moving)
        return not off <= NEAR * max(self.size, abs(self.by_moving))


def slopes(insight: Insight) -> Judgement:
    """Gradients are what the output does: of tokens, of contexts and of parameters."""
    count, x = 0, insight.subject.words(1, 1)
    if not insight.subject.differentiable or x.dtype not in STEPS:
        return skipped("no gradients can be asked for, or none that difference quotients can judge")
    for subject, call in _each(insight):
        plain = call.said == "no mask" and subject.mode == "evaluation"
        sources = _sources(subject, call, subject.parameters if plain else {})
        try:
            found = list(_slopes(subject, call, sources))
        except SubjectError as error:
            if not (call.context and declines_context(error)):
                raise
            continue
        if wrong := [slope for slope in found if slope.wrong]:
            return _failed(wrong, f"with {call.said}, in {subject.mode}")
        count += len(found)
    return passed(f"{count} gradients are difference quotients, along random directions")


def _each(insight: Insight) -> Iterator[tuple[Subject, Call]]:
    """Yield each way to call, in evaluation; one in training."""
    ways = calls(insight)
    for mode in insight.subject.modes:
        subject = insight.subject.in_mode(mode)
        yield from ((subject, call) for call in (ways if mode == "evaluation" else ways[:1]))


def _failed(wrong: list[Slope], said: str) -> Judgement:
    cut = [slope for slope in wrong if slope.by_autograd == 0]
    slope = (cut or wrong)[0]
    names = ", ".join(each.name for each in cut) or slope.name
    return failed(
        f"{said}: moving {slope.name} changes the output by {slope.by_moving:.3g}, its gradient "
        f"says {slope.by_autograd:.3g}",
        f"{names}: {CUT if cut else WRONG}",
    )


def _sources(
    subject: Subject, call: Call, parameters: Mapping[str, Tensor]
) -> dict[str, tuple[Tensor, slice]]:
    """Return what the output may be differentiated by, and which of its columns move."""
    x = subject.words(1, subject.length).requires_grad_()
    sources = {name: (x, where) for name, where in subject.parts.items()}
    if call.context:
        context = subject.contexts(1, subject.length).requires_grad_()
        sources["context"] = (context, slice(None))
    return sources | {name: (tensor, slice(None)) for name, tensor in parameters.items()}


def _slopes(
    subject: Subject, call: Call, sources: Mapping[str, tuple[Tensor, slice]]
) -> Iterator[Slope]:
    x = sources[next(iter(subject.parts))][0]
    context = sources["context"][0] if call.context else None

    def output() -> Tensor:
        return call.of(subject, x, context)

    made = output()
    if not made.isfinite().all():  # "runs" says so
        return
    weights = _random(made, 11)
    tensors = [tensor for tensor, _ in sources.values()]
    found = [torch.zeros_like(tensor) for tensor in tensors]
    if made.requires_grad:
        found = gradients((made * weights).sum(), tensors)
    least = LEAST * made.detach().norm().item()

    def value() -> float:
        return (output().detach() * weights).sum().item()

    for (name, (tensor, where)), gradient in zip(sources.items(), found, strict=True):
        for seed in TRIES:
            direction = torch.zeros_like(tensor)
            # a single number is moved as it is: it has no columns
            at = (..., where) if tensor.ndim else ...
            direction[at] = _random(tensor, seed)[at]
            direction *= max(tensor.detach().square().mean().sqrt().item(), 0.1)
            products = gradient * direction
            moving = _by_moving(tensor, direction, value)
            size = max(products.norm().item(), least)
            slope = Slope(name, products.sum().item(), moving, size)
            if not slope.wrong:
                break
        yield slope


def _random(like: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like.detach())


def _by_moving(tensor: Tensor, direction: Tensor, value: Callable[[], float]) -> float:
    """Return the difference quotient along a direction."""
    step = STEPS[tensor.dtype]
    up, down = (_moved(tensor, sign * step * direction, value) for sign in (1, -1))
    return (up - down) / (2 * step)


def _moved(tensor: Tensor, by: Tensor, value: Callable[[], float]) -> float:
    """Return the value with a tensor moved, and move it back."""
    before = tensor.detach().clone()
    try:
        with torch.no_grad():
            tensor.add_(by)
        return value()
    finally:
        with torch.no_grad():
            tensor.copy_(before)
