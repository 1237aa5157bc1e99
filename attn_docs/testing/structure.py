"""Look inside a module: which way of computing attention reproduces what its layers put out?"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import get_args

import torch
from torch import Tensor

from attn_docs.testing.formula import (
    Hypothesis,
    Pairs,
    Split,
    attention,
    divisor_value,
    one_thing_wrong,
    repeat_heads,
    turned,
)
from attn_docs.testing.layers import Recording, matches
from attn_docs.testing.sources import Sources, divisors, sources_of

THETAS = (10_000.0, 500_000.0, 1_000_000.0)  # RoFormer's, Llama 3's and Qwen2's
Cutter = Callable[[Tensor, int, Split, Pairs | None, float], Tensor]
Trial = tuple[Sources, Hypothesis]


@dataclass(frozen=True, eq=False)
class Structure:
    """The way of computing that reproduces a module's output."""

    how: Hypothesis
    sources: Sources
    head_dim: int
    divisor: float
    expected: float  # the divisor that is right
    wrong: str = ""  # what is wrong before the heads are split

    @property
    def tiny(self) -> int:
        """The longest sequence whose weights can be read back from the output."""
        return self.sources.tensors[2].size(-1) // self.how.num_kv_heads


@dataclass(frozen=True)
class Search:
    """Which ways of computing are tried.

    `num_heads` and `scale` are those that the module was said to have; with `rotary`, queries
    and keys may be turned by their positions; `thorough` tries what is less likely as well,
    which takes seconds: for modules whose stages were not seen as they ran.
    """

    num_heads: int | None = None
    scale: float | None = None
    rotary: bool = False
    thorough: bool = True

    def find(self, recording: Recording) -> Structure | None:
        """Find the way of computing that reproduces what came out.

        First a right way is tried, then one with one thing wrong, then any other divisor of the
        scores; then those with queries and keys turned by position.
        """
        choices = self._sources(recording)
        tried = _candidates(choices, self.num_heads, recording, self.thorough)
        if self.rotary:
            tried = itertools.chain(tried, _rotated(choices, self.num_heads, self.thorough))
        return self.first(tried, recording)

    def other_heads(self, recording: Recording) -> "Search":
        """Return the search without the number of heads, if a right way has another number."""
        if self.num_heads is None:
            return self
        free, choices = replace(self, num_heads=None), self._sources(recording)
        tried = ((each, how) for each in choices if each.likely for how in layouts(each, None))
        return self if free.first(tried, recording) is None else free

    def again(self, known: Structure, recording: Recording) -> Structure | None:
        """Find what is known of the module in another call of it; None if it is not there."""
        sources = (
            sources
            for sources in self._sources(recording)
            if (sources.names, sources.heads) == (known.sources.names, known.sources.heads)
        )
        return self.first(((each, known.how) for each in sources), recording)

    def _sources(self, recording: Recording) -> list[Sources]:
        if not recording.projections or len(recording.rest) > 1:
            return []
        return sources_of(recording)

    def first(self, tried: Iterator[Trial], recording: Recording) -> Structure | None:
        """Return the first way of computing that reproduces what came out; None if none does."""
        cut_once: Cutter = functools.cache(cut)  # many ways have the same heads
        for sources, how in tried:
            if recording.mask is None and how.mask != "right":
                continue
            size = recording.x.size(-1)
            made = reproduce(sources, how, recording.mask, size, self.scale, cut_once)
            if made is not None and _same(made[0], recording.inner, how):
                return self._structure(sources, how, recording)
        return None

    def _structure(self, sources: Sources, how: Hypothesis, recording: Recording) -> Structure:
        head_dim = sources.tensors[0].size(-1) // how.num_heads
        divisor, expected = (
            _divisor(each, head_dim, recording.x.size(-1), len(recording.x), self.scale)
            for each in (how, replace(how, divisor="√head_dim"))
        )
        wrong = dict.fromkeys(layer.wrong for layer in recording.projections if layer.wrong)
        return Structure(
            how, sources, head_dim, divisor, expected, "; ".join(wrong) or sources.wrong
        )


def layouts(sources: Sources, num_heads: int | None) -> Iterator[Hypothesis]:
    """Yield each number of query heads and of key and value heads that the sizes allow."""
    query, key, value = (tensor.size(-1) for tensor in sources.tensors)
    for heads in divisors(query):
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


def cut(x: Tensor, heads: int, split: Split, pairs: Pairs | None, theta: float) -> Tensor:
    """Cut (length, features) into heads, and turn them by their positions if `pairs` says how."""
    length, size = x.shape
    if split == "view":
        x = x.reshape(heads, length, size // heads)
    elif split == "minor":
        x = x.view(length, size // heads, heads).movedim(-1, 0)
    else:
        x = x.view(length, heads, size // heads)
        x = x if split == "across" else x.transpose(0, 1)
    return turned(x, pairs, theta)


def reproduce(
    sources: Sources,
    how: Hypothesis,
    mask: Tensor | None,
    input_dim: int,
    scale: float | None,
    cutter: Cutter = cut,
) -> tuple[Tensor, Tensor] | None:
    """Return output (length, features) and weights (heads, n, m), or None if sizes do not fit."""
    query, key, value = sources.tensors
    n, m = query.size(0), key.size(0)
    head_dim = query.size(-1) // how.num_heads
    if value.size(0) != m:
        return None
    if how.split == "across" and (how.num_heads != how.num_kv_heads or n != m):
        return None
    query, key, value = _heads(sources, how, cutter)
    if how.num_heads != how.num_kv_heads:
        group = how.num_heads // how.num_kv_heads
        key, value = repeat_heads(key, value, group, how.groups, 0)
    divisor = _divisor(how, head_dim, input_dim, n, scale)
    mask = None if how.split == "across" else mask
    output, weights = attention(query, key, value, mask, divisor, how)
    return _merged(output, how), weights


def _heads(sources: Sources, how: Hypothesis, cutter: Cutter) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = sources.tensors
    q_split: Split = "heads" if how.split == "kv view" else how.split
    kv_split: Split = "view" if how.split == "kv view" else how.split
    value_pairs = how.rotary if how.turns_values else None
    return (
        cutter(query, how.num_heads, q_split, how.rotary, how.theta),
        cutter(key, how.num_kv_heads, kv_split, how.rotary, how.theta),
        cutter(value, how.num_kv_heads, kv_split, value_pairs, how.theta),
    )


def _divisor(
    how: Hypothesis, head_dim: int, input_dim: int, length: int, scale: float | None
) -> float:
    if scale is not None and how.divisor == "√head_dim":
        return 1 / scale
    return divisor_value(how, head_dim, input_dim, length)


def _merged(output: Tensor, how: Hypothesis) -> Tensor:
    if how.split == "across":  # already (n, heads, e)
        return output.flatten(1)
    if how.merge == "mean":
        return output.mean(0)
    if how.merge == "sum":
        return output.sum(0)
    if how.merge == "view":
        return output.reshape(output.size(1), -1)
    return output.transpose(0, 1).flatten(1)


def _same(made: Tensor, target: Tensor, how: Hypothesis) -> bool:
    if matches(made, target):
        return True
    if how.merge != "heads" or how.split not in ("heads", "minor") or made.shape != target.shape:
        return False
    length = made.size(0)
    swapped = made.view(length, how.num_heads, -1).mT.reshape(length, -1)
    return matches(swapped, target)


def _candidates(
    choices: list[Sources], num_heads: int | None, recording: Recording, thorough: bool
) -> Iterator[Trial]:
    """Yield what to try: right ways, those with one thing wrong, those with another divisor."""
    pairs = [(sources, right) for sources in choices for right in layouts(sources, num_heads)]
    likely = [(sources, right) for sources, right in pairs if sources.likely]
    yield from likely
    for sources, right in likely:
        yield from ((sources, wrong) for wrong in one_thing_wrong(right))
    if not thorough:
        return
    yield from ((sources, right) for sources, right in pairs if not sources.likely)
    for sources, right in likely:
        yield from ((sources, other) for other in _fitted(sources, right, recording))


def _rotated(choices: list[Sources], num_heads: int | None, thorough: bool) -> Iterator[Trial]:
    """Yield what to try with turned queries and keys: right ways, those with one thing wrong."""
    ways = [
        (sources, replace(right, rotary=pairs, theta=theta))
        for sources in choices
        for right in layouts(sources, num_heads)
        if right.split == "heads" and sources.tensors[0].size(-1) // right.num_heads % 2 == 0
        for pairs, theta in itertools.product(get_args(Pairs), THETAS)
    ]
    yield from ways
    for sources, way in ways if thorough else ():
        if sources.likely:
            wrong = (replace(way, turns_values=True), *one_thing_wrong(way))
            yield from ((sources, each) for each in wrong)


def _fitted(sources: Sources, how: Hypothesis, recording: Recording) -> Iterator[Hypothesis]:
    """Yield the hypothesis with the divisor that the weights, solved from the output, speak of."""
    _, key, value = sources.tensors
    if how.split != "heads" or len(key) > value.size(-1) // how.num_kv_heads:
        return
    query, key, value = _heads(sources, how, cut)
    if recording.inner.size(-1) != how.num_heads * value.size(-1):
        return
    if not (recording.inner.isfinite().all() and value.isfinite().all()):
        return
    key, value = repeat_heads(key, value, how.num_heads // how.num_kv_heads, how.groups, 0)
    target = cut(recording.inner, how.num_heads, "heads", None, 0.0)
    weights = torch.linalg.lstsq(value.mT, target.mT).solution.mT
    keep = weights > 1e-9
    if recording.mask is not None:
        keep = keep & recording.mask
    if not keep.any():
        return
    factor = _factor(weights, query @ key.mT, keep)
    if math.isfinite(factor) and abs(factor) > 1e-9:
        yield replace(how, divisor=1 / factor)


def _factor(weights: Tensor, scores: Tensor, keep: Tensor) -> float:
    """Return the factor on the scores whose softmax comes nearest to the weights."""
    count = keep.sum(-1, keepdim=True).clamp(min=1)
    logs, scores = weights.clamp(min=1e-30).log() * keep, scores * keep
    logs = (logs - logs.sum(-1, keepdim=True) / count) * keep
    scores = (scores - scores.sum(-1, keepdim=True) / count) * keep
    return ((logs * scores).sum() / scores.square().sum()).item()
