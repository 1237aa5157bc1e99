"""Judge an attention by its stages as they ran, whatever was done between them.

The search for the way of computing knows the plain formula. Here each stage is compared with the
next: queries, keys and values with what the layers put out, the weights with the product of
queries and keys, what goes into the last layer with what came out. So a layer with normalised
queries and keys, rotated ones, a bias on the scores, a soft-cap, a sink or a gate is judged too.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attn_docs.testing.formula import MASKS, Groups, Masking, masked_scores
from attn_docs.testing.layers import Layer, Recording, matches
from attn_docs.testing.trace import Attended

LOWEST = -1e9  # scores below are a mask's
EXACT = 1e-4  # relative: a softmax may have run in float32


@dataclass(frozen=True)
class Origin:
    """Where the heads of queries, keys or values come from.

    Attributes:
        layer: Name of the layer, or of what is no layer.
        blocks: For each head, which block of the layer's features it is.
        size: How many features a block has.
        factor: What they were multiplied by.
        normalised: Whether each was divided by its own length first, or that of all heads.
        by_view: Whether the layer's output was cut across positions.
        rotated: Whether their lengths are the layer's, and their numbers are not.
        moved: Whether they stand at other positions than in the layer.
    """

    layer: str
    blocks: tuple[int, ...]
    size: int
    factor: float = 1.0
    normalised: bool = False
    by_view: bool = False
    rotated: bool = False
    moved: bool = False


@dataclass(frozen=True)
class Stages:
    """What is known of one attention as it ran; None where nothing is.

    Attributes:
        query: Where the queries come from.
        key: Where the keys come from.
        value: Where the values come from.
        factor: What the product of queries and keys was multiplied by.
        cap: The bound of a soft-cap on the scores; None if there is none.
        total: `factor` and the factors of queries and keys, together.
        merged: How heads were joined: "heads", "view", "mean" or "sum".
        axis: Over which axis the weights sum to one; None if over none.
        least: The smallest weight.
        softmax: Whether a softmax was seen.
        sink: Whether the softmax had a column that is no token's.
        twice: Whether what went into the softmax had been through one.
        cancels: Whether a query and the key of the same position were rotated alike; None if
            they were not rotated, or that is not known.
        num_heads: Number of query heads.
        head_dim: Size of a query head.
    """

    query: Origin | None
    key: Origin | None
    value: Origin | None
    factor: float | None
    cap: float | None
    merged: str | None
    axis: str | None
    least: float
    softmax: bool
    sink: bool
    twice: bool
    cancels: bool | None
    num_heads: int
    head_dim: int

    @property
    def total(self) -> float | None:
        """The factor on the scores, that of queries and keys included; None if not known."""
        if not self.factor or self.query is None or self.key is None:
            return None
        return self.factor * self.query.factor * self.key.factor

    @property
    def kv_heads(self) -> int:
        """How many key heads there are; as many as query heads if that is not known."""
        return self.num_heads if self.key is None else len(set(self.key.blocks))

    @property
    def ungrouped(self) -> bool:
        """Whether each query head has a key head of its own, or all have one."""
        ends = (self.key, self.value)
        return all(end is not None and _order(end.blocks) == "alone" for end in ends)

    @property
    def groups(self) -> Groups | None:
        """In which order query heads share key and value heads; None if none are shared."""
        if self.key is None or self.value is None:
            return None
        order = (_order(self.key.blocks), _order(self.value.blocks))
        tiled = tuple(each == "tiled" for each in order)
        if "other" in order or "alone" in order:
            return None
        if all(tiled):
            return "tiled"
        return "keys tiled" if tiled[0] else "values tiled" if tiled[1] else "interleaved"


def _order(blocks: tuple[int, ...]) -> str:
    """Return how query heads take the blocks: "interleaved", "tiled", "alone" or "other"."""
    kinds = sorted(set(blocks))
    if len(kinds) in (1, len(blocks)):
        return "alone"
    group = len(blocks) // len(kinds)
    if list(blocks) == [kind for kind in kinds for _ in range(group)]:
        return "interleaved"
    return "tiled" if list(blocks) == kinds * group else "other"


def stages_of(first: Recording, second: Recording) -> list[Stages]:
    """Return what is known of each attention from calls of one module on two inputs."""
    pairs = zip(first.attended, second.attended, strict=False)
    return [_stages(first, one, other) for one, other in pairs]


def _stages(recording: Recording, one: Attended, other: Attended) -> Stages:
    one, other = upright(one), upright(other)
    taken = recording.layers[0].input if recording.layers else recording.x  # perhaps normalised
    layers = [
        *recording.layers,
        Layer("the input itself", recording.x, recording.x),
        Layer("the input itself", taken, taken),
        Layer("the context itself", recording.context, recording.context),
    ]
    factor, cap = _factor(one, other)
    query, key = _origin(one.query, layers), _origin(one.key, layers)
    outputs = {layer.name: layer.output for layer in layers}
    return Stages(
        query=query,
        key=key,
        value=_origin(one.value, layers),
        factor=factor,
        cap=cap,
        merged=_merged(one, recording),
        axis=_axis(one.weights),
        least=float(one.weights.min()),
        softmax=one.scores is not None,
        sink=one.sink,
        twice=one.scores is not None and _axis(one.scores) == "keys",
        cancels=_cancels(one, query, key, outputs),
        num_heads=one.query.size(0),
        head_dim=one.query.size(-1),
    )


def _cancels(
    made: Attended, query: Origin | None, key: Origin | None, outputs: Mapping[str, Tensor]
) -> bool | None:
    """Tell whether a query meets the key of its own position as if neither was rotated."""
    if query is None or key is None or query.by_view or key.by_view:
        return None
    if not (query.rotated or key.rotated):
        return None
    # an angle is left by every norm, but one that takes a mean away first
    met = torch.cosine_similarity(made.query, made.key, dim=-1)
    return any(matches(met, _angles(outputs, query, key, centred)) for centred in (False, True))


def _angles(outputs: Mapping[str, Tensor], query: Origin, key: Origin, centred: bool) -> Tensor:
    """Return (h, n): the cosine between a position's query and key, as the layers put them out."""
    ends = []
    for end in (query, key):
        output = outputs[end.layer]
        blocks = output.view(len(output), -1, end.size).transpose(0, 1)[list(end.blocks)]
        ends.append(blocks - blocks.mean(-1, keepdim=True) if centred else blocks)
    return torch.cosine_similarity(ends[0], ends[1], dim=-1)


def upright(made: Attended) -> Attended:
    """Return it with queries as the rows of the product: some multiply keys with queries."""
    if made.product.size(-1) != made.product.size(-2):
        return made
    keep = _seen(made)
    target = _centred(made.weights.log(), keep)
    errors = []
    for product in (made.product, made.product.mT):
        source = _centred(product, keep)
        errors.append((target - _slope(target, source) * source).norm().item())
    if errors[0] <= errors[1]:
        return made
    return replace(
        made,
        query=made.key,
        key=made.query,
        product=made.product.mT,
        scores=None if made.scores is None else made.scores.mT,
    )


def _seen(made: Attended) -> Tensor:
    """Return which keys get a weight that is not lost in rounding."""
    return made.weights > 1e-9


def _centred(numbers: Tensor, keep: Tensor) -> Tensor:
    """Return numbers less the mean of what is kept in their row: a softmax sees no more of them."""
    count = keep.sum(-1, keepdim=True).clamp(min=1)
    numbers = numbers.masked_fill(~keep, 0.0)
    return (numbers - numbers.sum(-1, keepdim=True) / count) * keep


def _slope(target: Tensor, source: Tensor) -> float:
    """Return the factor on `source` that comes nearest to `target`."""
    size = float(source.square().sum())
    return float((target * source).sum()) / max(size, 1e-30)


def _factor(one: Attended, other: Attended) -> tuple[float | None, float | None]:
    """Return the factor between product and scores, and the cap on them, if there is one.

    From one input to another the scores change by the factor times the change of the product: what
    is added to them for each place, such as a bias by distance, is the same for both.
    """
    if one.weights.shape != other.weights.shape:
        return None, None
    keep = _seen(one) & _seen(other)
    target = _centred(one.weights.log() - other.weights.log(), keep)
    source = _centred(one.product - other.product, keep)
    factor = _slope(target, source)
    if _near(factor * source, target):
        return factor, None
    if one.scores is not None and other.scores is not None:
        # as they went into the softmax, whatever it runs over
        change, source = one.scores - other.scores, one.product - other.product
        finite = change.isfinite() & (one.scores > LOWEST) & (other.scores > LOWEST)
        factor = _slope(change[finite], source[finite])
        if _near(factor * source[finite], change[finite]):
            return factor, None
        return _capped(one.product, one.scores) or (None, None)
    return None, None


def _near(made: Tensor, target: Tensor) -> bool:
    size = target.norm().clamp(min=1e-12)
    return bool((made - target).norm() <= EXACT * size)


def _capped(product: Tensor, scores: Tensor) -> tuple[float, float] | None:
    """Return factor and cap with scores = cap · tanh(factor · product / cap); None if none fit."""
    seen = scores.isfinite() & (scores > LOWEST)
    product, scores = product[seen], scores[seen]
    low, high = scores.abs().max().item() * (1 + 1e-9), scores.abs().max().item() * 1e4

    def error(log_cap: float) -> float:
        cap = math.exp(log_cap)
        straight = cap * torch.atanh(scores / cap)
        return float((straight - _slope(straight, product) * product).norm())

    a, b = math.log(low), math.log(high)
    for _ in range(80):  # the error falls, then rises: thirds close in on its lowest point
        one, two = a + (b - a) / 3, b - (b - a) / 3
        a, b = (a, two) if error(one) < error(two) else (one, b)
    cap = math.exp((a + b) / 2)
    straight = cap * torch.atanh(scores / cap)
    factor = _slope(straight, product)
    bends = cap < high / 10
    return (factor, cap) if bends and _near(factor * product, straight) else None


def way_of_masking(plain: Attended, masked: Attended, allowed: Tensor) -> Masking | None:
    """Return the way of masking that makes the weights of a call with a mask from one without."""
    plain, masked = upright(plain), upright(masked)
    shapes = (masked.weights.shape, (len(plain.weights), *allowed.shape))
    if plain.scores is None or any(plain.weights.shape != shape for shape in shapes):
        return None
    top = plain.scores.amax(-1, keepdim=True)
    # what a column that is no token's takes, as a sink
    rest = (plain.scores - top).exp().sum(-1, keepdim=True)
    rest = rest * (1 / plain.weights.sum(-1, keepdim=True) - 1)
    for name in MASKS:
        if name == "values":  # of the output, not of the weights
            continue
        made = (masked_scores(plain.scores, allowed, 1.0, name) - top).exp()
        made = made / (made.sum(-1, keepdim=True) + rest)
        made = made.nan_to_num(0.0) * (allowed if name == "after" else 1.0)
        if matches(made, masked.weights):
            return name
    return None


def built_in_mask(made: Attended) -> Masking | None:
    """Return how a module that hides the future unasked goes wrong; None if that is not seen."""
    made = upright(made)
    if made.scores is None or made.scores.shape != made.weights.shape:
        return None
    below = torch.ones_like(made.weights[0], dtype=torch.bool).tril()
    if matches(torch.softmax(made.scores, -1) * below, made.weights):
        finite = made.scores[:, ~below].isfinite().all()
        return "after" if finite and not made.weights[:, ~below].any() else None
    return None if made.scores[:, ~below].any() else "zero"


def _axis(weights: Tensor) -> str | None:
    """Return over which axis the weights sum to one, where any are left; None if over none."""
    for name, dim in (("keys", -1), ("queries", -2), ("heads", -3)):
        made = weights.nan_to_num(0.0).sum(dim)
        if made.any() and matches(made, made.ne(0.0).to(made)):
            return name
    return None


def _origin(heads: Tensor, layers: Sequence[Layer]) -> Origin | None:
    """Return the layer that vectors (h, n, d) come from."""
    finders = (_by_length, _by_direction, _moved, _by_numbers)
    return next(
        (
            found
            for find in finders
            for layer in layers
            for by_view in (False, True)
            if (found := find(heads, layer, by_view)) is not None
        ),
        None,
    )


def _blocks(layer: Layer, size: int, by_view: bool) -> Tensor | None:
    """Return a layer's output as (blocks, n, size)."""
    length, features = layer.output.shape
    if features % size:
        return None
    if by_view:
        return layer.output.reshape(features // size, length, size)
    return layer.output.view(length, features // size, size).transpose(0, 1)


def _by_length(heads: Tensor, layer: Layer, by_view: bool) -> Origin | None:
    """Find heads whose vectors are as long as a layer's, times one factor: rotated or not."""
    blocks = _blocks(layer, heads.size(-1), by_view)
    if blocks is None or blocks.size(1) != heads.size(1):
        return None
    ratio = heads.norm(dim=-1)[:, None] / blocks.norm(dim=-1)[None].clamp(min=1e-30)  # h b n
    mean = ratio.mean(-1, keepdim=True)
    fits = ((ratio - mean).abs() <= EXACT * mean).all(-1)
    if not fits.any(-1).all():
        return None
    taken = fits.to(torch.int).argmax(-1)
    factors = mean[torch.arange(len(taken)), taken, 0]
    if not matches(factors, factors.mean().expand_as(factors)):
        return None
    factor = factors.mean().item()
    if matches(heads[:, 0], -factor * blocks[taken, 0]):  # where nothing is rotated yet
        factor = -factor
    rotated = not matches(heads, factor * blocks[taken])
    numbers = tuple(taken.tolist())
    return Origin(layer.name, numbers, heads.size(-1), factor, by_view=by_view, rotated=rotated)


def _by_direction(heads: Tensor, layer: Layer, by_view: bool) -> Origin | None:
    """Find heads that were normalised: by directions that a rotation leaves alone."""
    blocks = _blocks(layer, heads.size(-1), by_view)
    if blocks is None or blocks.size(1) != heads.size(1) or heads.size(-1) < 4:
        return None
    for less_mean, kept in itertools.product((False, True), UNROTATED):
        known = blocks - blocks.mean(-1, keepdim=True) if less_mean else blocks
        fits = _same_direction(kept(heads[:, None, 0]), kept(known[None, :, 0]))  # h b
        factor = _unit(heads)
        if factor is None or not fits.any(-1).all():
            continue
        taken = tuple(fits.to(torch.int).argmax(-1).tolist())
        rotated = not bool(_same_direction(heads, known[list(taken)]).all())
        return Origin(layer.name, taken, heads.size(-1), factor, True, by_view, rotated)
    return None


def _same_direction(one: Tensor, other: Tensor) -> Tensor:
    return torch.cosine_similarity(one, other, dim=-1) > 1 - EXACT**2


# what a rotation leaves of a vector: all at position zero; else how long its pairs are
UNROTATED: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda x: x,
    lambda x: torch.hypot(*x.chunk(2, -1)) if x.size(-1) % 2 == 0 else x,
    lambda x: torch.hypot(x[..., ::2], x[..., 1::2]) if x.size(-1) % 2 == 0 else x,
)


def _moved(heads: Tensor, layer: Layer, by_view: bool) -> Origin | None:
    """Find heads that stand one position before or after."""
    for steps in (1, -1):
        found = _by_length(heads.roll(steps, 1)[:, 1:-1], _inner(layer), by_view)
        if found is not None and not found.rotated:
            return replace(found, moved=True)
    return None


def _inner(layer: Layer) -> Layer:
    """Return a layer without its first and last position: something else may have moved there."""
    return replace(layer, output=layer.output[1:-1])


def _by_numbers(heads: Tensor, layer: Layer, by_view: bool) -> Origin | None:
    """Find heads that hold a layer's numbers in another order, as a reshape makes."""
    blocks = _blocks(layer, heads.size(-1), by_view)
    if blocks is None or blocks.shape[1:] != heads.shape[1:]:
        return None
    mine, theirs = (torch.sort(t.flatten(1), -1).values for t in (heads, blocks))
    mine, theirs = (t / t.norm(dim=-1, keepdim=True).clamp(min=1e-30) for t in (mine, theirs))
    fits = (mine[:, None] - theirs[None]).abs().amax(-1) <= EXACT
    if not fits.any(-1).all():
        return None
    taken = tuple(fits.to(torch.int).argmax(-1).tolist())
    return Origin(layer.name, taken, heads.size(-1), by_view=True)


def _unit(heads: Tensor) -> float | None:
    """Return what normalised vectors were multiplied by: each, or all heads together."""
    size = heads.size(-1)
    for lengths in (heads.norm(dim=-1), heads.norm(dim=(0, -1)) / heads.size(0) ** 0.5):
        mean = lengths.mean()
        if bool(((lengths - mean).abs() <= 1e-3 * mean).all()):  # ε of the norm
            return float(mean / size**0.5)
    return None


def _merged(made: Attended, recording: Recording) -> str | None:
    """Return how the heads were joined before the next layer, perhaps with a gate."""
    layers = recording.layers
    for into in (*(layer.input for layer in layers[made.after :]), recording.output):
        for gate in _gates(into, layers):
            for name, joined in joinings(made.output):
                if joined.shape == into.shape and matches(joined * gate, into):
                    return name
    return None


def joinings(heads: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield the ways to join (h, n, e), right first."""
    yield "heads", heads.transpose(0, 1).flatten(1)
    yield "view", heads.reshape(heads.size(1), -1)
    yield "mean", heads.mean(0)
    yield "mean", heads.mean(0).repeat(1, len(heads))
    yield "sum", heads.sum(0)


def _gates(into: Tensor, layers: Sequence[Layer]) -> Iterator[Tensor]:
    """Yield what may multiply the joined heads: nothing, or the gate that a layer put out."""
    yield torch.ones_like(into)
    for layer in layers:
        length, features = layer.output.shape
        if length != into.size(0) or features % into.size(1):
            continue
        for part in torch.split(layer.output, into.size(1), -1):
            yield torch.sigmoid(part)
            yield torch.nn.functional.silu(part)
