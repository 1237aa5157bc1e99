"""Check that the options of a function have an effect, and that of their names."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from attn_docs.testing.function_insight import FunctionInsight
from attn_docs.testing.function_subject import KEYS, FunctionSubject
from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, passed, skipped, together, unknown
from attn_docs.testing.knobs import IGNORED, Kind, kind_of, shown
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import SubjectError

CAP, WINDOW = 0.5, 3
NOT_FITTING = "and not as its name says"


def options_used(insight: FunctionInsight) -> Judgement:
    """Each option by a known name, and each that the reader names, does what it is for."""
    subject, told = insight.subject, insight.knobs
    names = [name for name in _arguments(subject) if _asked(insight, name)]
    names += [name for name in told if name not in names]
    if not names:
        return skipped("the function has no option by a name that is known")
    return together([_judged(insight, name) for name in names])


def _asked(insight: FunctionInsight, name: str) -> bool:
    """Tell whether an argument is a knob that no other property judges."""
    kind = kind_of(name)
    return kind is not None and (kind != "scale" or insight.how is None)


def _arguments(subject: FunctionSubject) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(subject.function).parameters
    except ValueError:  # written in C
        return {}


@dataclass(frozen=True, eq=False)
class Pair:
    """A call without an option and one with it; the mask is what the other options stand for."""

    besides: str
    causal: bool
    mask: Tensor | None
    plain: Tensor
    made: Tensor


def _judged(insight: FunctionInsight, name: str) -> Judgement:
    """Judge one option: with the reader's value, or the first of ours that does not raise."""
    raised = ""
    for value in _values(insight, name):
        said = f"{name}={shown(value)}"
        try:
            pairs = _pairs(insight, name, value)
        except SubjectError as error:
            raised = raised or f"{said} raised {error}"
            continue
        if all(torch.equal(pair.made, pair.plain) for pair in pairs):
            calls = ", nor".join(pair.besides for pair in pairs)
            return failed(f"{said} changes nothing{calls}", f"{IGNORED}: {said}")
        wrong = _wrong(insight, name, value, pairs)
        return wrong or passed(f"{said} {_does(insight, name, value, pairs)}")
    return unknown(raised)


def _pairs(insight: FunctionInsight, name: str, value: Any) -> list[Pair]:
    """Return calls without and with an option; those alone that run, if any does."""
    subject, inputs = insight.subject, _inputs(insight.subject)
    pairs, first = [], None
    for besides, options, mask in _situations(insight):
        try:
            plain = subject.attend(*inputs, **options).detach()
            made = subject.attend(*inputs, **options, **{name: value}).detach()
        except SubjectError as error:
            first = first or error
            continue
        pairs.append(Pair(besides, "is_causal" in options, mask, plain, made))
    if first is not None and not pairs:
        raise first
    return pairs


def _values(insight: FunctionInsight, name: str) -> Iterator[Any]:
    """Yield values that must change something."""
    subject = insight.subject
    if name in insight.knobs:
        yield insight.knobs[name]
        return
    kind, parameter = kind_of(name), _arguments(subject).get(name)
    if kind == "window":
        pair = parameter is not None and isinstance(parameter.default, (tuple, list))
        yield from [(WINDOW, WINDOW)] if pair else [WINDOW, (WINDOW, WINDOW)]
    elif kind == "sinks":
        heads = subject.inputs()[0].size(1)
        yield torch.linspace(-1, 2, heads, dtype=subject.dtype, device=subject.device)
    elif kind == "scale":
        yield 0.3
    else:
        yield CAP


Situation = tuple[str, dict[str, Any], Tensor | None]


def _situations(insight: FunctionInsight) -> Iterator[Situation]:
    """Yield what may be asked for besides an option, in words, and the mask it stands for."""
    subject = insight.subject
    n, m = _lengths(subject)
    yield "", {}, None
    if not insight.no_causal and insight.alignment:
        yield " with is_causal=True", {"is_causal": True}, insight.triangle(n, m)
    if not mask_unfit(insight):
        mask = sample_mask(max(n, m), subject.device)[:n, :m]
        yield " with a mask", {"attn_mask": mask}, mask


def _lengths(subject: FunctionSubject) -> tuple[int, int]:
    return subject.lengths[0] if subject.lengths else (KEYS, KEYS)


def _inputs(subject: FunctionSubject) -> list[Tensor]:
    """Return inputs with scores at which a cap shows."""
    n, m = _lengths(subject)
    query, key, value = subject.inputs(n=n, m=m, seed=1)
    return [4 * query, key, value]


def _wrong(insight: FunctionInsight, name: str, value: Any, pairs: list[Pair]) -> Judgement | None:
    """Judge whether an option does what its name says; None if so, or if that is not known."""
    kind, inputs = kind_of(name), _inputs(insight.subject)
    if kind is None or kind == "scale" or insight.how is None or insight.root_cause:
        return None
    if kind == "sinks" and insight.how.softcap is not None:  # of which the formula is not known
        return None
    for pair in pairs:
        if not insight.near(insight.expected(inputs, pair.mask), pair.plain):
            continue  # which another property says
        said = f"{name}={shown(value)}{pair.besides}"
        if kind == "window":
            wrong = _wrong_window(insight, inputs, pair, value)
        elif torch.equal(pair.made, pair.plain):
            cause = f"{IGNORED}{pair.besides}: {name}={shown(value)}"
            return failed(f"{said} changes nothing", cause)
        else:
            wrong = _wrong_numbers(insight, kind, inputs, pair, value)
        if wrong:
            return failed(f"{said} changes the output, {NOT_FITTING}: {wrong}", f"{name}: {wrong}")
    return None


def _wrong_numbers(
    insight: FunctionInsight,
    kind: Kind,
    inputs: list[Tensor],
    pair: Pair,
    value: Any,
) -> str:
    """Say what is wrong with a call with a cap or sinks; empty if it is the formula's."""
    if kind == "sinks":
        ways = _sunk(inputs, pair.mask, value)
    else:
        ways = _capped(insight, inputs, pair.mask, value)
    for wrong, right in ways:
        if insight.near(right, pair.made):
            return wrong
    formula = "c · tanh(score / c)" if kind == "softcap" else "exp(sink) in each head's sum"
    return f"it is not {formula}"


def _capped(
    insight: FunctionInsight, inputs: list[Tensor], mask: Tensor | None, cap: float
) -> Iterator[tuple[str, Tensor]]:
    """Yield what a cap may do: the right thing, with no words, then what it is taken for."""
    query, key, value = inputs
    size = query.size(-1) ** 0.5
    yield "", insight.expected(inputs, mask, how=replace(insight.way, softcap=cap))
    raw = replace(insight.way, softcap=cap / size)
    yield "the scores are capped before they are scaled", insight.expected(inputs, mask, how=raw)
    scores = query.double() @ key.double().mT / size
    late = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    others = {
        "a tanh without the cap before it: c · tanh(score)": cap * torch.tanh(scores),
        "a tanh without the cap after it: tanh(score / c)": torch.tanh(scores / cap),
        "scores are cut off at the cap": scores.clamp(-cap, cap),
    }
    for name, capped in others.items():
        hidden = capped if mask is None else capped.masked_fill(~mask, -torch.inf)
        yield name, hidden.softmax(-1).nan_to_num(0.0) @ value.double()
    after = (cap * torch.tanh(late / cap)).softmax(-1) @ value.double()
    yield "the mask comes before the tanh, which makes a finite score of −∞", after


def _sunk(inputs: list[Tensor], mask: Tensor | None, sinks: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield what sinks may do: the right thing, with no words, then what they are taken for."""
    query, key, value = (part.double() for part in inputs)
    scale = query.size(-1) ** -0.5
    scores = query @ key.mT * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    total = scores.logsumexp(-1, keepdim=True)
    sink = sinks.double().view(-1, 1, 1)
    ways = {
        "": sink,
        "sinks are multiplied by the scale": sink * scale,
        "sinks are not exponents: their logarithm is": sink.clamp(min=1e-30).log(),
        "one sink serves all heads": sink[:1],
        "sinks are taken in the wrong order of heads": sink.flip(0),
    }
    for name, score in ways.items():
        kept = torch.sigmoid(total - score)  # of the weights, the share that is no sink's
        yield name, scores.softmax(-1).nan_to_num(0.0) @ value * kept


def _windows(n: int, m: int, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield which keys a window shows, by convention; a causal mask hides the future besides."""
    left, right = value if isinstance(value, (tuple, list)) else (value, value)
    ones = torch.ones(n, m, dtype=torch.bool)
    end = m - n  # the last query is level with the last key
    yield f"{left} before itself", ones.triu(end - left).tril(end + right)
    yield f"{left} before itself", ones.triu(end - left)
    yield f"{left}, itself among them", ones.triu(end - left + 1).tril(end + right - 1)
    yield f"{left}, itself among them", ones.triu(end - left + 1)
    yield f"{left}, itself in the middle", ones.triu(end - left // 2).tril(end + right // 2)
    blocks = [torch.arange(n)[:, None] // left, torch.arange(m)[None] // left]
    yield f"its block of {left}", blocks[0] == blocks[1]
    yield (
        f"its block of {left} and the one before",
        (blocks[0] - blocks[1] >= 0) & (blocks[0] - blocks[1] < 2),
    )


def _convention(insight: FunctionInsight, inputs: list[Tensor], pair: Pair, value: Any) -> str:
    """Return which keys a query sees; empty if it is none of the known conventions."""
    n, m = pair.made.size(-2), inputs[1].size(-2)
    for name, window in _windows(n, m, value):
        seen = window.to(pair.made.device)
        seen = seen if pair.mask is None else seen & pair.mask
        if insight.near(insight.expected(inputs, seen), pair.made):
            return name
    return ""


def _wrong_window(insight: FunctionInsight, inputs: list[Tensor], pair: Pair, value: Any) -> str:
    """Say that a window is none; empty if it is one, or leaves the call as it is."""
    numbers = isinstance(value, (int, tuple, list)) and pair.made.size(-2) == inputs[1].size(-2)
    ignored = torch.equal(pair.made, pair.plain)  # it may count with is_causal alone, or without
    masked = pair.mask is not None and not pair.causal  # a row may be left without keys
    if not numbers or ignored or masked or _convention(insight, inputs, pair, value):
        return ""
    return "the keys that are seen are those of no window of that size"


def _does(insight: FunctionInsight, name: str, value: Any, pairs: list[Pair]) -> str:
    """Say what an option was seen to do."""
    kind = kind_of(name)
    if insight.how is None or insight.root_cause or kind is None or kind == "scale":
        return "changes the output"
    if kind == "softcap":
        return "caps the scores"
    if kind == "sinks":
        return "adds to the sum of each row what no key gets"
    for pair in sorted(pairs, key=lambda pair: not pair.causal):
        moved = not torch.equal(pair.made, pair.plain)
        if moved and (named := _convention(insight, _inputs(insight.subject), pair, value)):
            return f"lets each query see {named}"
    return "changes the output"
