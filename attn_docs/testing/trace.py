"""Record the attention of one call as it ran: queries, keys, weights, values, in any module.

Queries and keys are taken where they are multiplied, weights and values where those are. So what
was done to them before (norms, rotary positions, repeated heads) need not be known.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attn_docs.testing.layers import PRODUCTS, Recorder

aten = torch.ops.aten
SOFTMAXES = (aten._softmax.default, aten._safe_softmax.default)  # noqa: SLF001
FUSED = "_scaled_dot_product_"


@dataclass(frozen=True, eq=False)
class Product:
    """Two batches of matrices (heads, a, c) and (heads, c, b), none a parameter, multiplied."""

    left: Tensor
    right: Tensor
    result: Tensor


@dataclass(frozen=True, eq=False)
class Attended:
    """One attention as it ran; heads stand first.

    Attributes:
        query: (h, n, d), as multiplied with the keys.
        key: (h, m, d).
        product: (h, n, m), query times key.
        weights: (h, n, m), as multiplied with the values.
        value: (h, m, e).
        output: (h, n, e).
        scores: (h, n, m), what went into the softmax; None if that was not seen.
        sink: Whether the softmax had a column that is no token's.
        after: The first layer after it, the number that it has among the layers.
    """

    query: Tensor
    key: Tensor
    product: Tensor
    weights: Tensor
    value: Tensor
    output: Tensor
    scores: Tensor | None = None
    sink: bool = False
    after: int = 0


@dataclass(frozen=True, eq=False)
class _Scores:
    """Queries and keys that were multiplied, and wait for the values."""

    query: Tensor
    key: Tensor
    product: Tensor


class Tracer(Recorder):  # type: ignore[no-untyped-call]
    """Record layers, and each attention between them."""

    def __init__(self, module: nn.Module, length: int) -> None:
        super().__init__(module)
        self.length = length
        self.attended: list[Attended] = []
        self._waiting: list[_Scores] = []
        self._softmaxes: list[Tensor] = []

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        super()._record(func, args, kwargs, result)
        if func in SOFTMAXES:
            self._softmaxes.append(_heads(args[0]))
        elif func in PRODUCTS and not self._name(args[-1]) and not self._name(args[-2]):
            left, right = (_heads(tensor) for tensor in args[-2:])
            self._multiplied(Product(left, right, _heads(result)))
        elif FUSED in func.name() and isinstance(result, tuple):
            self._fused(func, args, kwargs, result[0])

    def finished(self) -> tuple[Attended, ...]:
        """Return each attention; heads that were computed one after the other are put together."""
        groups: dict[tuple[int, ...], list[Attended]] = {}
        for made in self.attended:
            key = (made.after, *made.query.shape[1:], *made.value.shape[1:])
            groups.setdefault(key, []).append(made)
        return tuple(_together(each) for each in groups.values())

    def _multiplied(self, made: Product) -> None:
        """Tell a product of queries and keys from one of weights and values, or neither."""
        _, rows, inner = made.left.shape
        for mix in (made, _turned(made)):
            if (waiting := self._whose(mix)) is not None:
                self._mixed(waiting, mix)
                return
        if rows % self.length == 0 and inner != self.length:
            self._waiting.append(self._scores(made))

    def _scores(self, made: Product) -> _Scores:
        """Return queries and keys with one key head for each query head."""
        group = made.left.size(1) // self.length  # query heads that were multiplied at once
        key = made.right.mT.repeat_interleave(group, 0)
        query = made.left.reshape(-1, self.length, made.left.size(-1))
        return _Scores(query, key, made.result.reshape(-1, self.length, made.right.size(-1)))

    def _whose(self, mix: Product) -> _Scores | None:
        """Return the oldest scores of which these can be the weights."""
        sizes = (mix.left.numel(), mix.left.size(-1))
        return next(
            (
                waiting
                for waiting in self._waiting
                if sizes == (waiting.product.numel(), waiting.product.size(-1))
                and mix.left.size(1) % self.length == 0
            ),
            None,
        )

    def _mixed(self, waiting: _Scores, mix: Product) -> None:
        self._waiting.remove(waiting)
        group = mix.left.size(1) // self.length
        value = mix.right.repeat_interleave(group, 0)
        weights = mix.left.reshape(waiting.product.shape)
        output = mix.result.reshape(-1, self.length, mix.right.size(-1))
        softmaxed = [scores for scores in self._softmaxes if _fit(scores, weights)]
        self._softmaxes.clear()
        made = Attended(waiting.query, waiting.key, waiting.product, weights, value, output)
        if softmaxed:
            scores = softmaxed[-1]
            sink = scores.size(-1) > weights.size(-1)
            made = replace(made, scores=scores[..., : weights.size(-1)], sink=sink)
        self.attended.append(replace(made, after=len(self.layers)))

    def _fused(self, func: Any, args: Any, kwargs: Any, result: Tensor) -> None:
        """Take apart a call of a fused kernel; PyTorch's own need not be watched inside."""
        names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
        given = dict(zip(names, args, strict=False)) | kwargs
        query, key, value = (_heads(given[name]) for name in ("query", "key", "value"))
        group = query.size(0) // key.size(0)
        key, value = (tensor.repeat_interleave(group, 0) for tensor in (key, value))
        product = query @ key.mT
        factor = given.get("scale") or 1 / math.sqrt(query.size(-1))
        scores = factor * product
        if given.get("is_causal"):
            scores = scores.masked_fill(~torch.ones_like(scores).bool().tril(), -math.inf)
        mask = given.get("attn_mask", given.get("attn_bias"))
        if mask is not None:
            scores = scores + _heads(mask.expand(*mask.shape[:-2], *scores.shape[-2:]))
        weights = torch.softmax(scores, -1).nan_to_num(0.0)
        made = Attended(query, key, product, weights, value, _heads(result), scores)
        self.attended.append(replace(made, after=len(self.layers)))


def _heads(tensor: Tensor) -> Tensor:
    """Return a copy as (heads, rows, columns), for one sample."""
    tensor = tensor.detach()
    while tensor.ndim < 3:
        tensor = tensor[None]
    return tensor.flatten(0, -3).clone()


def _fit(scores: Tensor, weights: Tensor) -> bool:
    """Tell whether scores have the sizes of weights, perhaps with a column that is no token's."""
    return scores.shape[:-1] == weights.shape[:-1] and scores.size(-1) - weights.size(-1) in (0, 1)


def _together(heads: Sequence[Attended]) -> Attended:
    """Return several heads as one attention."""
    if len(heads) == 1:
        return heads[0]
    scores = [each.scores for each in heads if each.scores is not None]
    return Attended(
        query=torch.cat([each.query for each in heads]),
        key=torch.cat([each.key for each in heads]),
        product=torch.cat([each.product for each in heads]),
        weights=torch.cat([each.weights for each in heads]),
        value=torch.cat([each.value for each in heads]),
        output=torch.cat([each.output for each in heads]),
        scores=torch.cat(scores) if len(scores) == len(heads) else None,
        sink=heads[0].sink,
        after=heads[0].after,
    )


def _turned(made: Product) -> Product:
    """Return the same product with both sides transposed."""
    return Product(made.right.mT, made.left.mT, made.result.mT)
