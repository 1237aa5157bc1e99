"""Check that what a module is given, or keeps, by the name of an option has an effect."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_docs.testing.checks import shared
from attn_docs.testing.formula import divisor_value
from attn_docs.testing.judgement import Judgement, failed, passed, skipped, together, unknown
from attn_docs.testing.knobs import (
    IGNORED,
    NO_ATTENTION,
    Changed,
    Kept,
    Kind,
    changed,
    is_set,
    kept_by,
    kind_of,
    other,
    shown,
)
from attn_docs.testing.module_insight import TRACED, ModuleInsight
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.stages import LOWEST
from attn_docs.testing.subject import SubjectError, influence, seeded

NOTHING = "nothing it is called with or keeps is an option by a name that is known"
NO_READER = "no call reads it"


def options_used(insight: ModuleInsight) -> Judgement:
    """Each option that is given, and each number kept under an option's name, has an effect."""
    found = [*_given(insight), *_kept(insight)]
    return together(found) if found else skipped(NOTHING)


def _given(insight: ModuleInsight) -> Iterator[Judgement]:
    """Judge the arguments that the adapter gives in each call."""
    subject = insight.subject
    for name, value in subject.adapter.knobs.items():
        rest = {key: v for key, v in subject.adapter.knobs.items() if key != name}
        without = replace(subject, adapter=replace(subject.adapter, knobs=rest))
        if _moves(subject, without):
            yield passed(f"{name} changes the output")
        else:
            said = f"{name}={value!r}"
            yield failed(f"without {said} each call gives the same", f"{IGNORED}: {said}")


def _kept(insight: ModuleInsight) -> Iterator[Judgement]:
    """Judge the numbers that the module keeps: those that the reader names, and those guessed."""
    module, told = insight.subject.module, insight.subject.claims.knobs
    for name, value in told.items():
        yield _told(insight, name, value)
    groups: dict[str, list[Kept]] = {}
    for kept in kept_by(module, lambda name: kind_of(name) is not None and name not in told):
        kind = kind_of(kept.name)
        norm = kind == "scale" and NO_ATTENTION.search(type(kept.holder).__name__)
        if is_set(kind, kept.value) and not norm:
            groups.setdefault(kept.name, []).append(kept)
    for group in groups.values():
        kind = kind_of(group[0].name)
        if kind is not None:
            yield _guessed(insight, kind, group)


def _told(insight: ModuleInsight, name: str, value: Any) -> Judgement:
    """Judge a number that the reader names, with the value that must change something."""
    copy = changed(insight.subject.module, name, lambda _: value)
    moved, said = _effect(insight.subject, copy), f"{name}={shown(value)}"
    if isinstance(moved, str):
        return unknown(f"{said} raised {moved}")
    if moved:
        return passed(f"{said} changes the output{_as_meant(insight, name, value, copy)}")
    return failed(
        f"{said} set on the module changes nothing; {_reader(copy)}", f"{IGNORED}: {said}"
    )


def _guessed(insight: ModuleInsight, kind: Kind, group: list[Kept]) -> Judgement:
    """Judge a number that is kept under the name of a knob."""
    first, many = group[0], f" (and {len(group) - 1} more)" if len(group) > 1 else ""
    new, said = other(kind, first.value), f"{first}{many}"
    copy = changed(insight.subject.module, first.name, lambda value: other(kind, value))
    moved = _effect(insight.subject, copy)
    if isinstance(moved, str):
        return unknown(f"{said}, set to {shown(new)}, raised {moved}")
    if moved:
        return passed(f"{said} changes the output{_as_meant(insight, first.name, new, copy)}")
    unmoved = f"{said}, set to {shown(new)}: each call gives the same"
    if kind == "window" and insight.subject.adapter.causal_mask:
        return unknown(f"{unmoved}; a window may be in the mask, which comes from outside")
    if copy.reads:
        return failed(f"{unmoved}, though calls read it", f"{IGNORED}: {first}")
    given = [kept for kept in group if kept.given and not kept.config]
    why = _against(insight, kind, given) if given and copy.watched else ""
    if why:
        return failed(f"{unmoved}; {NO_READER}, and {why}", f"{IGNORED}: {first}")
    return unknown(f"{unmoved}; {NO_READER}: it counted when the module was built, or is off")


def _reader(copy: Changed) -> str:
    return "calls read it" if copy.reads else NO_READER


def _effect(subject: ModuleSubject, copy: Changed) -> bool | str:
    """Tell whether the copy gives other outputs; or with what it raises."""
    try:
        return _moves(replace(subject, module=copy.module), subject)
    except SubjectError as error:
        return str(error)


def _moves(subject: ModuleSubject, without: ModuleSubject) -> bool:
    """Tell whether a subject gives something else than one without, which may raise."""
    return any(_differs(subject, without, x, causal) for x, causal in _inputs(subject))


def _inputs(subject: ModuleSubject) -> Iterator[tuple[Tensor, bool | None]]:
    for length in dict.fromkeys((subject.length, max(subject.counts))):
        for size in (1, 4):  # a cap bends large scores
            for causal in (None, True):
                yield size * subject.words(1, length), causal


def _differs(one: ModuleSubject, other: ModuleSubject, x: Tensor, causal: bool | None) -> bool:
    outputs = []
    for subject in (one, other):
        seeded(0, x.device)
        try:
            outputs.append(subject.call(x, causal=causal).detach())
        except SubjectError:
            if subject is one:
                raise
            return True
    return not torch.equal(*outputs)


def _as_meant(insight: ModuleInsight, name: str, value: Any, copy: Changed) -> str:
    """Say what a knob that moves the output does; empty if that is not seen."""
    kind, subject = kind_of(name), replace(insight.subject, module=copy.module)
    if not is_set(kind, value):
        return ""
    if kind == "window" and (reach := _reach(subject, int(value))):
        itself = {0: "itself among them", 1: "and itself"}.get(reach - int(value))
        return "" if itself is None else f": with {value} each token sees {value}, {itself}"
    if kind == "softcap" and _within(subject, float(value)):
        return f": with {shown(value)} no score is larger"
    return ""


def _reach(subject: ModuleSubject, window: int) -> int:
    """Return how many tokens the last one sees, in an attention that is alone; 0 if not known."""
    length = window + 3
    if window > 60 or not subject.runs_on(length):
        return 0
    try:
        many = len(subject.record(subject.words(1, length), causal=True).attended)
        seen = influence(subject, subject.words(1, length), causal=True)[-1]
    except SubjectError:
        return 0
    first = (seen > 1e-9 * seen.max()).nonzero().flatten()
    return length - int(first[0]) if many == 1 and len(first) else 0


def _within(subject: ModuleSubject, cap: float) -> bool:
    """Tell whether the scores of large tokens are seen and none is larger than a cap."""
    try:
        made = subject.record(8 * subject.words(1, subject.length), causal=True).attended
    except SubjectError:
        return False
    scores = [each.scores for each in made if each.scores is not None]
    sizes = [each[each.isfinite() & (each > LOWEST)].abs().max().item() for each in scores]
    return bool(sizes) and max(sizes) <= cap * (1 + 1e-6)


def _against(insight: ModuleInsight, kind: Kind, group: list[Kept]) -> str:
    """Say what shows that a number nobody reads had no effect at construction; empty if nothing."""
    if kind == "window":
        window = max(kept.value for kept in group)
        reach = _reach(insight.subject, window)
        return f"a token sees {reach}" if reach > window + 1 else ""
    if kind == "softcap":
        return _above(insight.subject, max(float(kept.value) for kept in group))
    if kind == "sinks":
        equal = shared.equal_words(insight).verdict == "pass"
        return "equal tokens give what one gives, so no sink takes a share" if equal else ""
    if kind == "scale":
        factor = _factor(insight)
        kept = float(group[0].value)
        alike = any(abs(factor / kept**power - 1) < 0.01 for power in (1, -1, 2, -2))
        return f"scores are multiplied by {factor:.4g}" if factor and not alike else ""
    return ""


def _above(subject: ModuleSubject, cap: float) -> str:
    """Say that scores differ by more than a cap allows, as large as tokens and gains make them.

    From one input to another: what is added to them for each place is the same for both.
    """
    for gain in (None, 8.0, 64.0):
        large = subject if gain is None else subject.with_gains(gain)
        for size in (1, 8, 64):
            try:
                pair = [
                    large.record(size * large.words(1, TRACED, seed=seed), causal=True).attended
                    for seed in (0, 1)
                ]
            except SubjectError:
                return ""
            changes = [_change(*made) for made in zip(*pair, strict=False)]
            if changes and min(changes) > 2.02 * cap:
                return f"scores of one place differ by up to {min(changes):.3g}"
    return ""


def _change(one: Any, other: Any) -> float:
    if one.scores is None or other.scores is None or one.scores.shape != other.scores.shape:
        return 0.0
    finite = (one.scores > LOWEST) & (other.scores > LOWEST)
    change = (one.scores - other.scores)[finite].abs()
    return change.nan_to_num(0.0, 0.0).max().item() if len(change) else 0.0


def _factor(insight: ModuleInsight) -> float:
    """Return the factor on the scores; 0 if it is not known."""
    if (structure := insight.structure) is not None:
        how, search = structure.how, insight.search
        if search.scale is not None and how.divisor == "√head_dim":
            return search.scale
        size = structure.sources.tensors[0].size(-1) // how.num_heads
        return 1 / divisor_value(how, size, insight.subject.embed_dim, insight.subject.length)
    totals = {each.total for each in insight.stages["evaluation"]}
    return (totals.pop() or 0.0) if len(totals) == 1 else 0.0
