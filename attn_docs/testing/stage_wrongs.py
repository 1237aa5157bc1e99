"""Say in words what is wrong with an attention whose stages were recorded, and what holds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from attn_docs.testing.formula import TILED, Axis, Divisor, Hypothesis, divisor_value
from attn_docs.testing.stages import Origin, Stages
from attn_docs.testing.wrongs import (
    VALUES_TURNED,
    Inside,
    by_view,
    divided,
    joined,
    mixed_up,
    normalised_over,
)

TWICE = "the softmax is applied twice: what goes into it sums to 1 already"
ROTATED_APART = (
    "a query and the key of its own position are not rotated by the same angle: another offset, "
    "another direction, another layout of the pairs, or only one of them is rotated"
)
SINKS = "a column of the softmax is no token's: the weights of tokens sum to less than 1"
VALUES_MOVED = "the values stand one position off: weights of one token meet the value of another"
SLACK = 2e-3  # relative, of a factor: norms add a small number to what they divide by


def stage_wrongs(
    stages: Sequence[Stages], right_scale: float | None, sizes: tuple[int, int]
) -> dict[Inside, str]:
    """Return what is wrong in any of several attentions, by property.

    `right_scale` is the factor that was said; `sizes` are those of the input and the length.
    """
    wrong: dict[Inside, str] = {}
    for number, each in enumerate(stages, 1):
        place = f" (attention {number} of {len(stages)})" if len(stages) > 1 else ""
        for name, cause in _wrong(each, right_scale, sizes).items():
            wrong.setdefault(name, f"{cause}{place}")
    return wrong


def _wrong(found: Stages, right_scale: float | None, sizes: tuple[int, int]) -> dict[Inside, str]:
    wrong: dict[Inside, str] = {
        "scale": _scaled(found, right_scale, sizes),
        "weights": _weights(found),
        "head layout": _layout(found),
        "group order": "" if found.groups is None else TILED.get(found.groups, ""),
        "rotation": ROTATED_APART if found.cancels is False else "",
    }
    wrong.update(_sources(found))
    return {name: cause for name, cause in wrong.items() if cause}


def _weights(found: Stages) -> str:
    if found.axis == "keys":
        return TWICE if found.twice else ""
    if found.axis is not None:
        axis: Axis = "queries" if found.axis == "queries" else "heads"
        return normalised_over(axis)
    if found.least < 0.0 and not found.softmax:
        return f"weights are negative, down to {found.least:.3g}: they are not a softmax's"
    return ""


def expected_scale(found: Stages, right_scale: float | None) -> float | None:
    """Return the factor that scores should have; None if nothing is known of it.

    Queries and keys of length one stand for angles: what multiplies those is for each layer to
    choose, or to learn.
    """
    if right_scale is not None:
        return right_scale
    unit = 1 / math.sqrt(found.head_dim)
    ends = (found.query, found.key)
    if all(end is not None and end.normalised and _alike(end.factor, unit) for end in ends):
        return None
    return unit


def _alike(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SLACK)


def _scaled(found: Stages, right_scale: float | None, sizes: tuple[int, int]) -> str:
    total, expected = found.total, expected_scale(found, right_scale)
    if total is None or expected is None or _alike(total, expected):
        return ""
    how = Hypothesis(found.num_heads, found.kv_heads)
    divisor, name = 1 / total, ""
    for each in get_args(Divisor):
        value = divisor_value(replace(how, divisor=each), found.head_dim, *sizes)
        if _alike(value, divisor):
            name, divisor = each, value
            break
    return divided(name, divisor, 1 / expected, found.head_dim)


def _layout(found: Stages) -> str:
    ends = (found.query, found.key, found.value)
    if any(end is not None and end.by_view for end in ends):
        return by_view("split")
    return "" if found.merged is None else joined(found.merged)


def _sources(found: Stages) -> dict[Inside, str]:
    if found.value is not None and found.value.moved:
        return {"value projection": VALUES_MOVED}
    if found.value is not None and found.value.rotated:
        return {"value projection": VALUES_TURNED}
    if found.query is None or found.key is None or found.value is None:
        return {}
    return mixed_up(*(label(end) for end in (found.query, found.key, found.value)))


def label(end: Origin) -> str:
    """Name the layer, with the part of it that is used if it is not known to be all."""
    if end.layer.startswith("the "):
        return end.layer
    blocks = sorted(set(end.blocks))
    return end.layer if blocks[0] == 0 else f"{end.layer}, from part {blocks[0] + 1} on"


def holds(name: Inside, stages: Sequence[Stages], right_scale: float | None) -> str:
    """Return the evidence that a property holds in each attention; empty if that is not known."""
    said = [_holds(name, each, right_scale) for each in stages]
    return said[0] if said and all(said) else ""


def _holds(name: Inside, found: Stages, right_scale: float | None) -> str:
    match name:
        case "scale":
            expected = expected_scale(found, right_scale)
            if found.total is None or expected is None:
                return ""
            cap = "" if found.cap is None else f", below a soft-cap of {found.cap:.4g}"
            return f"scores are divided by {1 / found.total:.4g}, as they ran{cap}"
        case "weights":
            return _sums(found)
        case "value projection":
            end = found.value
            return "" if end is None else f"values come from {label(end)}"
        case "head layout":
            ends = (found.query, found.key, found.value)
            if found.merged is None or None in ends or found.num_heads == 1:
                return ""
            return f"{found.num_heads} heads, cut and joined position by position"
        case "group order":
            if found.groups != "interleaved":
                return ""
            return f"{found.kv_heads} key heads serve {found.num_heads} query heads in a row"
        case "rotation":
            return "a query meets the key of its own position as if unrotated" * bool(found.cancels)
        case _:
            return ""


def _sums(found: Stages) -> str:
    if found.sink and found.axis is None:
        return SINKS
    return "the weights that meet the values sum to 1" if found.axis == "keys" else ""


def formula(stages: Sequence[Stages], right_scale: float | None) -> str:
    """Say how each stage ran, if all were seen and are the formula's; empty if not."""
    needed: tuple[Inside, ...] = ("scale", "weights", "value projection")
    if not all(holds(name, stages, right_scale) for name in needed):
        return ""
    first = stages[0]
    if any(each.merged != "heads" for each in stages):
        return ""
    norm = ", normalised queries and keys" if first.key and first.key.normalised else ""
    cap = "" if first.cap is None else f", soft-cap {first.cap:.4g}"
    many = f"{len(stages)} attentions, " if len(stages) > 1 else ""
    return (
        f"as it ran, stage by stage: {many}{first.num_heads} heads of {first.head_dim}{norm}{cap}"
    )
