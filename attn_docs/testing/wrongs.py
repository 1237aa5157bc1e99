"""Say in words what is wrong with the way of computing that was found."""

import math
from typing import Literal

from attn_docs.testing.formula import MASKS, TILED, Axis
from attn_docs.testing.sources import FUSED_VIEW
from attn_docs.testing.structure import Structure

# the properties that the way of computing decides
Inside = Literal[
    "scale",
    "weights",
    "head layout",
    "projections",
    "group order",
    "rotation",
    "causality",
    "value projection",
]
ACROSS = "the heads of one position attend to each other: transpose heads and length first"
VALUES_TURNED = "the values are turned by their positions, expected only queries and keys"


def wrongs(found: Structure) -> dict[Inside, str]:
    """Return what is wrong with a structure, by property."""
    how = found.how
    wrong: dict[Inside, str] = {
        "scale": "" if how.divisor == "√head_dim" else scaled(found),
        "weights": "" if how.axis == "keys" else normalised_over(how.axis),
        "head layout": FUSED_VIEW if found.wrong == FUSED_VIEW else _layout(found),
        "projections": "" if found.wrong == FUSED_VIEW else found.wrong,
        "group order": TILED.get(how.groups, ""),
        "causality": "" if how.mask == "right" else f"the built-in causal mask: {MASKS[how.mask]}",
    }
    wrong.update(_sources(found))
    return {name: cause for name, cause in wrong.items() if cause}


def scaled(found: Structure) -> str:
    """Say what the scores are divided by, and what they should be divided by."""
    name = found.how.divisor if isinstance(found.how.divisor, str) else ""
    return divided(name, found.divisor, found.expected, found.head_dim)


def divided(name: str, divisor: float, right: float, head_dim: int) -> str:
    """Say what scores are divided by, with its name if it has one, and what is expected."""
    expected = f"{right:.4g}"
    if math.isclose(right, head_dim**0.5):
        expected = f"√head_dim = {expected}"
    return f"scaled by {f'{name} = ' if name else ''}{divisor:.4g}, expected {expected}"


def normalised_over(axis: Axis) -> str:
    """Say that the weights sum to 1 over another axis than the keys."""
    return f"the softmax runs over the {axis}, expected the keys"


def _layout(found: Structure) -> str:
    split, merge = found.how.split, found.how.merge
    if split == "across":
        return ACROSS
    if split in ("view", "kv view"):
        return by_view("split")
    return joined(merge)


def by_view(does: str) -> str:
    """Say that heads are split or merged without a transpose."""
    return f"heads are {does} by view alone, without a transpose: scrambled heads mix positions"


def joined(merge: str) -> str:
    """Say what is wrong with how the heads are joined; empty if nothing is."""
    if merge in ("mean", "sum"):
        does = "averaged" if merge == "mean" else "added up"
        return f"heads are {does}, not put side by side"
    return by_view("merged") if merge == "view" else ""


def _sources(found: Structure) -> dict[Inside, str]:
    """Return what is wrong with the projections that the structure uses."""
    if found.how.turns_values:
        return {"value projection": VALUES_TURNED}
    return mixed_up(*found.sources.names)


def mixed_up(query: str, key: str, value: str) -> dict[Inside, str]:
    """Return what is wrong with queries, keys and values from these layers, by property."""
    if value == key:
        return {"value projection": f"the value is computed with the key projection, {key}"}
    if value == query:
        return {"value projection": f"the value is computed with the query projection, {query}"}
    if value.startswith("the "):
        return {"value projection": f"the value is {value}: no value projection is used"}
    if query == key:
        return {"projections": f"query and key come from one projection, {key}"}
    for role, name in (("query", query), ("key", key)):
        if name.startswith("the "):
            return {"projections": f"the {role} is {name}: no {role} projection is used"}
    return {}
