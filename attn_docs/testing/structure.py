"""Look inside a module: which way of computing attention reproduces what its layers put out?"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs.testing.formula import Hypothesis, attention, divisor_value, repeat_heads, turned

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)
ADDITIONS = (aten.add.Tensor, aten.add_.Tensor)
COPIES = (aten.clone.default,)
THETAS = (10_000.0, 500_000.0, 1_000_000.0)  # RoFormer's, Llama 3's and Qwen2's
ROLES = {
    "query": re.compile(r"(^|[._])(w_?q|q|to_q|q_?proj|query|queries|wq|fc_q|linear_q)([._]|$)"),
    "key": re.compile(r"(^|[._])(w_?k|k|to_k|k_?proj|key|keys|wk|fc_k|linear_k)([._]|$)"),
    "value": re.compile(r"(^|[._])(w_?v|v|to_v|v_?proj|value|values|wv|fc_v|linear_v)([._]|$)"),
}


@dataclass
class Layer:
    """One product with a parameter of the module."""

    name: str
    input: Tensor
    output: Tensor
    memory: Tensor
    wrong: str = ""


class LinearLayers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Record every product of a tensor with a parameter, whatever layer class made it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names = {
            parameter.untyped_storage().data_ptr(): name
            for name, parameter in module.named_parameters()
        }
        self.layers: list[Layer] = []
        self.copies: list[Tensor] = []  # kept, so that no other tensor gets their memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and keep its input and output if it is a layer's."""
        result = func(*args, **(kwargs or {}))
        if func in PRODUCTS:
            rows, weight = args[-2:]
            name = self._name(weight)
            if name is not None:
                features = (-1, rows.size(-1)), (-1, result.size(-1))
                self.layers.append(
                    Layer(
                        name,
                        rows.detach().reshape(features[0]).clone(),
                        result.detach().reshape(features[1]).clone(),
                        result,
                    )
                )
        elif func in COPIES and (name := self._name(args[0])):
            self.copies.append(result)
            self.names[_pointer(result)] = name
        elif func in ADDITIONS and isinstance(args[1], Tensor) and self._name(args[1]):
            for layer in self.layers:  # a bias that is added by itself
                if _pointer(layer.memory) == _pointer(args[0]):
                    layer.output = result.detach().reshape(layer.output.shape).clone()
                    layer.memory = result
        return result

    def _name(self, tensor: Tensor) -> str | None:
        return self.names.get(_pointer(tensor))


def _pointer(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


@dataclass(frozen=True)
class Sources:
    """Where queries, keys and values come from: names and tensors (length, features)."""

    names: tuple[str, str, str]
    tensors: tuple[Tensor, Tensor, Tensor]
    heads: int | None = None
    likely: bool = True
    wrong: str = ""


@dataclass(frozen=True)
class Structure:
    """The way of computing that reproduces a module's output."""

    how: Hypothesis
    sources: Sources
    head_dim: int
    divisor: float
    target: Tensor
    input_dim: int
    expected: float
    wrong: str = ""  # what is wrong before the heads are split

    @property
    def tiny(self) -> int:
        """The longest sequence whose weights can be read back from the output."""
        return self.sources.tensors[2].size(-1) // self.how.num_kv_heads


def sources_of(layers: list[Layer], x: Tensor, context: Tensor, size: int) -> list[Sources]:
    """Return the ways to read queries, keys and values out of the layers, likely ones first."""
    parts: list[tuple[str, Tensor]] = []
    for layer in layers:
        if not any(layer.name == n and matches(layer.output, t) for n, t in parts):
            parts.append((layer.name, layer.output))
    groups: dict[str, list[Tensor]] = {}
    for name, output in parts:
        groups.setdefault(re.sub(r"\d+", "*", name), []).append(output)
    if len(parts) > 3 and len({len(outputs) for outputs in groups.values()}) == 1:
        # one layer for each head
        parts = [(name, torch.cat(outputs, -1)) for name, outputs in groups.items()]
    found: list[Sources] = []
    if len(parts) == 1:
        found = list(_fused(*parts[0], size))
    elif len(parts) == 2:
        found = [
            Sources((query[0], *names), (query[1], *tensors), heads)
            for query, pair in (parts, parts[::-1])  # whichever is called first
            for names, tensors, heads in _pairs(*pair)
        ]
    elif len(parts) == 3:
        names, tensors = zip(*_by_role(parts), strict=True)
        found = [Sources(tuple(names), tuple(tensors))]
    return found + list(_mixed_up(found, parts, x, context))


def _by_role(parts: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    by_role = []
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
    for heads in _divisors(features // 3):
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


# views of one fused output that cut across positions: axes, and the order (3, length, heads, size)
SCRAMBLED = (
    ("3hld", (0, 2, 1, 3)),
    ("h3ld", (1, 2, 0, 3)),
    ("h3dl", (1, 3, 0, 2)),
    ("3lhd", (0, 1, 2, 3)),
)
FUSED_VIEW = "the fused projection is cut by a view that crosses positions: heads are scrambled"


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
    for heads in _divisors(features // 2):
        for shape, dim in (((heads, 2, -1), -2), ((heads, -1, 2), -1)):
            pieces = output.view(length, *shape).movedim(dim, 0).reshape(2, length, -1)
            yield labels, (pieces[0], pieces[1]), None
            yield labels[::-1], (pieces[1], pieces[0]), None


def _mixed_up(
    found: list[Sources], parts: list[tuple[str, Tensor]], x: Tensor, context: Tensor
) -> Iterator[Sources]:
    """Yield the ways in which one role takes another role's projection, or none at all."""
    inputs = [("the input itself", x), ("the context itself", context)]
    if len(parts) > 2:
        bases = found[:1]
    else:
        pairs = (
            itertools.product(parts, parts) if len(parts) == 1 else itertools.permutations(parts, 2)
        )
        bases = [Sources((a[0], b[0], b[0]), (a[1], b[1], b[1])) for a, b in pairs]
    for base in bases:
        choices = [*zip(base.names, base.tensors, strict=True), *inputs]
        for triple in itertools.product(choices, repeat=3):
            names, tensors = zip(*triple, strict=True)
            if len(parts) < 3 or names != base.names:
                yield Sources(tuple(names), tuple(tensors), likely=False)


def _divisors(number: int) -> list[int]:
    return [i for i in range(1, number + 1) if number % i == 0]


def layouts(sources: Sources, num_heads: int | None) -> Iterator[Hypothesis]:
    """Yield each number of query heads and of key and value heads that the sizes allow."""
    query, key, value = (tensor.size(-1) for tensor in sources.tensors)
    for heads in _divisors(query):
        if num_heads not in (None, heads) or sources.heads not in (None, heads):
            continue
        head_dim = query // heads
        if key % head_dim or (num_heads is None and head_dim < 4 and heads > 16):
            continue
        kv_heads = key // head_dim
        if heads % kv_heads == 0 and value % kv_heads == 0:
            yield Hypothesis(heads, kv_heads)
            if heads > 1:  # the head is the fastest index: another order, as right
                yield Hypothesis(heads, kv_heads, split="minor")


def reproduce(
    sources: Sources, how: Hypothesis, mask: Tensor | None, input_dim: int, scale: float | None
) -> tuple[Tensor, Tensor] | None:
    """Return output (length, features) and weights (heads, n, m), or None if sizes do not fit."""
    query, key, value = sources.tensors
    n, m = query.size(0), key.size(0)
    head_dim = query.size(-1) // how.num_heads
    if value.size(0) != m:
        return None
    kv_split = "view" if how.split == "kv view" else how.split
    q_split = "heads" if how.split == "kv view" else how.split
    query = _split(query, how.num_heads, q_split)
    key, value = (_split(tensor, how.num_kv_heads, kv_split) for tensor in (key, value))
    query, key = turned(query, how), turned(key, how)
    value = turned(value, how) if how.turns_values else value
    if how.split == "across":
        if how.num_heads != how.num_kv_heads or n != m:
            return None
        mask = None
    elif how.num_heads != how.num_kv_heads:
        group = how.num_heads // how.num_kv_heads
        key, value = repeat_heads(key, value, group, how.groups, 0)
    divisor = divisor_value(how.divisor, how, head_dim, input_dim, n)
    if scale is not None and how.divisor == "√head_dim":
        divisor = 1 / scale
    output, weights = attention(query, key, value, mask, divisor, how)
    if how.split == "across":  # already (n, heads, e)
        return output.flatten(1), weights
    if how.merge in ("mean", "sum"):
        return (output.mean(0) if how.merge == "mean" else output.sum(0)), weights
    if how.merge == "view":
        return output.reshape(n, -1), weights
    return output.transpose(0, 1).flatten(1), weights


def _split(x: Tensor, heads: int, how: str) -> Tensor:
    length, size = x.shape
    if how == "view":
        return x.reshape(heads, length, size // heads)
    if how == "minor":
        return x.view(length, size // heads, heads).movedim(-1, 0)
    x = x.view(length, heads, size // heads)
    return x if how == "across" else x.transpose(0, 1)


def matches(a: Tensor | None, b: Tensor) -> bool:
    """Tell whether two outputs are the same up to rounding."""
    if a is None or a.shape != b.shape:
        return False
    tolerance = 1e-5 if b.dtype == torch.float64 else 1e-4  # some compute the softmax in float32
    return bool((a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1e-6))


def find(
    layers: list[Layer],
    output: Tensor,
    x: Tensor,
    context: Tensor,
    mask: Tensor | None,
    num_heads: int | None,
    scale: float | None,
    known: Structure | None = None,
    rotary: bool = False,
) -> Structure | None:
    """Search for the way of computing that reproduces what came out.

    First for a right way, then for one with one thing wrong, then for any other divisor of the
    scores; with `rotary` also for those with queries and keys turned by position. `known` spares
    the search: only that way is tried.
    """
    projections, rest = split_layers(layers, x, context)
    if not projections or len(rest) > 1:
        return None
    target = rest[0].input if rest else output
    choices = sources_of(projections, x, context, target.size(-1))
    wrong = "; ".join(dict.fromkeys(layer.wrong for layer in projections if layer.wrong))

    def structure(sources: Sources, how: Hypothesis) -> Structure | None:
        if mask is None and how.mask != "right":
            return None
        made = reproduce(sources, how, mask, x.size(-1), scale)
        if made is None or not _same(made[0], target, how):
            return None
        head_dim = sources.tensors[0].size(-1) // how.num_heads
        root = divisor_value("√head_dim", how, head_dim, x.size(-1), len(x))
        expected = root if scale is None else 1 / scale
        divisor = divisor_value(how.divisor, how, head_dim, x.size(-1), len(x))
        if how.divisor == "√head_dim":
            divisor = expected
        return Structure(
            how, sources, head_dim, divisor, target, x.size(-1), expected, wrong or sources.wrong
        )

    tried = candidates(choices, num_heads, target, mask)
    if rotary:
        tried = itertools.chain(tried, rotated(choices, num_heads))
    if known is not None:
        names = known.sources.names, known.sources.heads
        same = (sources for sources in choices if (sources.names, sources.heads) == names)
        tried = ((sources, known.how) for sources in same)
    made = (structure(sources, how) for sources, how in tried)
    return next((found for found in made if found is not None), None)


def candidates(
    choices: list[Sources], num_heads: int | None, target: Tensor, mask: Tensor | None
) -> Iterator[tuple[Sources, Hypothesis]]:
    """Yield what to try: right ways, those with one thing wrong, those with another divisor."""
    pairs = [(sources, right) for sources in choices for right in layouts(sources, num_heads)]
    likely = [(sources, right) for sources, right in pairs if sources.likely]
    yield from likely
    for sources, right in likely:
        yield from ((sources, wrong) for wrong in right.one_thing_wrong())
    yield from ((sources, right) for sources, right in pairs if not sources.likely)
    for sources, right in likely:
        yield from ((sources, other) for other in fitted(sources, right, target, mask))


def rotated(choices: list[Sources], num_heads: int | None) -> Iterator[tuple[Sources, Hypothesis]]:
    """Yield what to try with turned queries and keys: right ways, those with one thing wrong."""
    ways = [
        (sources, replace(right, rotary=rotary, theta=theta))
        for sources in choices
        for right in layouts(sources, num_heads)
        if right.split == "heads" and sources.tensors[0].size(-1) // right.num_heads % 2 == 0
        for rotary, theta in itertools.product(("halves", "neighbours"), THETAS)
    ]
    yield from ways
    for sources, way in ways:
        if sources.likely:
            wrong = (replace(way, turns_values=True), *way.one_thing_wrong())
            yield from ((sources, each) for each in wrong)


def split_layers(
    layers: list[Layer], x: Tensor, context: Tensor
) -> tuple[list[Layer], list[Layer]]:
    """Return the layers that take `x` or the context, and the rest."""
    projections: list[Layer] = []
    rest: list[Layer] = []
    for layer in layers:
        if any(matches(layer.input, source) for source in (x, context)):
            projections.append(layer)
            continue
        slices = (shared_by_heads(layer, source) for source in (x, context))
        found = next((shared for shared in slices if shared is not None), None)
        (rest if found is None else projections).append(found or layer)
    return projections, rest


def shared_by_heads(layer: Layer, source: Tensor) -> Layer | None:
    """Return a layer that takes each head's slice of the input, as one that takes the input."""
    length, size = source.shape
    width = layer.input.size(-1)
    if layer.input.numel() != source.numel() or width == size:
        return None
    for shape in ((length, -1), (-1, length)):  # heads within a position, or positions in a head
        rows, output = (t.reshape(*shape, t.size(-1)) for t in (layer.input, layer.output))
        if shape[0] == -1:
            rows, output = rows.transpose(0, 1), output.transpose(0, 1)
        if matches(rows.flatten(1), source):
            wrong = (
                f"{layer.name} is one projection that all heads share, each for its slice of the "
                "input: no head sees the whole input"
            )
            return replace(layer, input=rows.flatten(1), output=output.flatten(1), wrong=wrong)
    return None


def fitted(
    sources: Sources, how: Hypothesis, target: Tensor, mask: Tensor | None
) -> Iterator[Hypothesis]:
    """Yield the hypothesis with the divisor that the weights, solved from the output, speak of."""
    query, key, value = sources.tensors
    n, m = len(query), len(key)
    if how.split != "heads" or m > value.size(-1) // how.num_kv_heads:
        return
    q, k, v = (
        _split(tensor, heads, "heads")
        for tensor, heads in (
            (query, how.num_heads),
            (key, how.num_kv_heads),
            (value, how.num_kv_heads),
        )
    )
    if target.size(-1) != how.num_heads * v.size(-1):
        return
    group = how.num_heads // how.num_kv_heads
    scores = q @ k.repeat_interleave(group, 0).mT
    y = _split(target, how.num_heads, "heads")
    weights = torch.linalg.lstsq(v.repeat_interleave(group, 0).mT, y.mT).solution.mT
    keep = torch.ones(n, m, dtype=torch.bool, device=y.device) if mask is None else mask
    keep = keep & (weights > 1e-9)
    if not keep.any():
        return
    count = keep.sum(-1, keepdim=True).clamp(min=1)
    logs, scores = weights.clamp(min=1e-30).log() * keep, scores * keep
    logs = (logs - logs.sum(-1, keepdim=True) / count) * keep
    scores = (scores - scores.sum(-1, keepdim=True) / count) * keep
    factor = ((logs * scores).sum() / scores.square().sum()).item()
    if math.isfinite(factor) and abs(factor) > 1e-9:
        yield replace(how, divisor=repr(1 / factor))


def _same(made: Tensor, target: Tensor, how: Hypothesis) -> bool:
    if matches(made, target):
        return True
    if how.merge != "heads" or how.split not in ("heads", "minor") or made.shape != target.shape:
        return False
    length = made.size(0)
    swapped = made.view(length, how.num_heads, -1).mT.reshape(length, -1)
    return matches(swapped, target)
