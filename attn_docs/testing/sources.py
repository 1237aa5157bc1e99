"""Read queries, keys and values out of what a module's layers put out, in every way known."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attn_docs.testing.layers import Layer, Recording, matches

ROLES = {
    "query": re.compile(r"(^|[._])(w_?q|q|to_q|q_?proj|query|queries|wq|fc_q|linear_q)([._]|$)"),
    "key": re.compile(r"(^|[._])(w_?k|k|to_k|k_?proj|key|keys|wk|fc_k|linear_k)([._]|$)"),
    "value": re.compile(r"(^|[._])(w_?v|v|to_v|v_?proj|value|values|wv|fc_v|linear_v)([._]|$)"),
}
# views of one fused output that cut across positions: axes, and the order (3, length, heads, size)
SCRAMBLED = (
    ("3hld", (0, 2, 1, 3)),
    ("h3ld", (1, 2, 0, 3)),
    ("h3dl", (1, 3, 0, 2)),
    ("3lhd", (0, 1, 2, 3)),
)
FUSED_VIEW = "the fused projection is cut by a view that crosses positions: heads are scrambled"


@dataclass(frozen=True, eq=False)
class Sources:
    """Where queries, keys and values come from: names and tensors (length, features)."""

    names: tuple[str, str, str]
    tensors: tuple[Tensor, Tensor, Tensor]
    heads: int | None = None
    likely: bool = True
    wrong: str = ""


Part = tuple[str, Tensor]


def sources_of(recording: Recording) -> list[Sources]:
    """Return the ways to read queries, keys and values out of the layers, likely ones first."""
    parts = _parts(recording.projections)
    found: list[Sources] = []
    if len(parts) == 1:
        found = list(_fused(*parts[0], recording.inner.size(-1)))
    elif len(parts) == 2:
        found = [
            Sources((query[0], *names), (query[1], *tensors), heads)
            for query, pair in (parts, parts[::-1])  # whichever is called first
            for names, tensors, heads in _pairs(*pair)
        ]
    elif len(parts) == 3:
        found = [_sources(*_by_role(parts))]
    return found + list(_mixed_up(found, parts, recording))


def _parts(layers: list[Layer]) -> list[Part]:
    """Return what the layers put out, by name; what belongs to one head each, put together."""
    parts: list[Part] = []
    for layer in layers:
        if not any(layer.name == n and matches(layer.output, t) for n, t in parts):
            parts.append((layer.name, layer.output))
    groups: dict[str, list[Tensor]] = {}
    for name, output in parts:
        groups.setdefault(re.sub(r"\d+", "*", name), []).append(output)
    if len(parts) > 3 and len({len(outputs) for outputs in groups.values()}) == 1:
        return [(name, torch.cat(outputs, -1)) for name, outputs in groups.items()]
    return parts


def _sources(query: Part, key: Part, value: Part, *, likely: bool = True) -> Sources:
    names, tensors = (query[0], key[0], value[0]), (query[1], key[1], value[1])
    return Sources(names, tensors, likely=likely)


def _by_role(parts: list[Part]) -> list[Part]:
    by_role: list[Part] = []
    for pattern in ROLES.values():
        matching = [part for part in parts if pattern.search(part[0].lower())]
        if len(matching) != 1:
            return parts
        by_role += matching
    return by_role


def _fused(name: str, output: Tensor, size: int) -> Iterator[Sources]:
    length, features = output.shape
    for order in itertools.permutations(range(3)):
        if features % 3 == 0:
            thirds = output.chunk(3, -1)
            labels = [f"{name}, part {i + 1} of 3" for i in range(3)]
            yield _pick(labels, thirds, order)
    if features > size and (features - size) % 2 == 0 and features != 3 * size:
        rest = (features - size) // 2
        thirds = torch.split(output, [size, rest, rest], -1)
        yield _pick([f"{name}, queries", f"{name}, keys", f"{name}, values"], thirds, (0, 1, 2))
    if features % 3:
        return
    for heads in divisors(features // 3):
        if heads == 1:
            continue
        for shape, dim in (((heads, 3, -1), -2), ((heads, -1, 3), -1)):
            pieces = output.view(length, *shape).movedim(dim, 0).reshape(3, length, -1)
            labels = [f"{name}, slot {i + 1} of 3 of each head" for i in range(3)]
            for order in itertools.permutations(range(3)):
                yield _pick(labels, tuple(pieces), order, heads)
        sizes = {"l": length, "h": heads, "3": 3, "d": -1}
        for letters, axes in SCRAMBLED:
            cut = output.reshape([sizes[letter] for letter in letters])
            pieces = cut.permute(axes).reshape(3, length, -1)
            labels = [f"{name}, part {i + 1} of 3" for i in range(3)]
            yield replace(_pick(labels, tuple(pieces), (0, 1, 2), heads), wrong=FUSED_VIEW)


def _pick(
    labels: list[str], tensors: tuple[Tensor, ...], order: tuple[int, ...], heads: int | None = None
) -> Sources:
    i, j, k = order
    return Sources(
        (labels[i], labels[j], labels[k]),
        (tensors[i], tensors[j], tensors[k]),
        heads,
        likely=order == (0, 1, 2),
    )


def _pairs(
    name: str, output: Tensor
) -> Iterator[tuple[tuple[str, str], tuple[Tensor, Tensor], int | None]]:
    length, features = output.shape
    if features % 2:
        return
    halves = output.chunk(2, -1)
    labels = (f"{name}, first half", f"{name}, second half")
    yield labels, (halves[0], halves[1]), None
    yield labels[::-1], (halves[1], halves[0]), None
    for heads in divisors(features // 2):
        for shape, dim in (((heads, 2, -1), -2), ((heads, -1, 2), -1)):
            pieces = output.view(length, *shape).movedim(dim, 0).reshape(2, length, -1)
            yield labels, (pieces[0], pieces[1]), None
            yield labels[::-1], (pieces[1], pieces[0]), None


def _mixed_up(found: list[Sources], parts: list[Part], recording: Recording) -> Iterator[Sources]:
    """Yield the ways in which one role takes another role's projection, or none at all."""
    choices = parts
    if len(parts) > 2:
        choices = [part for base in found for part in zip(base.names, base.tensors, strict=True)]
    if not choices:
        return
    choices = [*choices, ("the input itself", recording.x)]
    if not matches(recording.context, recording.x):
        choices.append(("the context itself", recording.context))
    for query, key, value in itertools.product(choices, repeat=3):
        mixed = _sources(query, key, value, likely=False)
        if not any(mixed.names == base.names for base in found):
            yield mixed


def divisors(number: int) -> list[int]:
    """Return the numbers that divide another."""
    return [i for i in range(1, number + 1) if number % i == 0]
