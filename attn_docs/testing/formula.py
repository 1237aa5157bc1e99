"""Attention by the formula, and by the formula with one thing wrong."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from attn_docs.position.rotary import apply_rotary

# The right divisor, then the wrong ones seen in the wild, by the name a finding gives them.
Divisor = Literal[
    "√head_dim",
    "√embed_dim",
    "1",
    "head_dim",
    "head_dim^¼",
    "1/√head_dim",
    "√num_heads",
    "√num_kv_heads",
    "√length",
    "√input_dim",
    "embed_dim",
    "√(head_dim/2)",
    "√(2·head_dim)",
]
Split = Literal["heads", "view", "across", "kv view", "minor"]
Merge = Literal["heads", "view", "mean", "sum"]
Axis = Literal["keys", "queries", "heads", "swapped"]
Groups = Literal["interleaved", "tiled", "keys tiled", "values tiled"]
Pairs = Literal["halves", "neighbours"]  # which numbers of a head rotary positions turn together
Masking = Literal[
    "right",
    "none",
    "inverted",
    "transposed",
    "inverted and transposed",
    "zero",
    "added",
    "after",
    "before",
    "values",
    "first row",
    "columns",
    "no diagonal",
    "one ahead",
]

MASKS: dict[Masking, str] = {
    "right": "keys that are not allowed are removed before the softmax",
    "none": "the mask is not applied",
    "no diagonal": "the mask is off by one: a position does not see itself",
    "one ahead": "the mask is off by one: a position sees the next one",
    "inverted": "the mask's polarity is inverted: True removes what it should keep",
    "transposed": "the mask's axes are swapped: it is read as (key, query)",
    "inverted and transposed": "the mask's polarity is inverted and its axes are swapped",
    "zero": "masked scores become 0, not −∞: a score of 0 still gets a weight",
    "added": "the boolean mask is added to the scores as 0 and 1",
    "after": "the mask multiplies the weights after the softmax: rows do not sum to 1",
    "before": "the mask is applied to the scores before they are scaled, as a factor",
    "values": "masked keys keep their weight; only rows of the output are zeroed",
    "first row": "the first row of the mask is used for all queries",
    "columns": "a mask of pairs is read as one of keys: a key is hidden only if hidden from all",
}

_TILED = (
    "heads are repeated as a whole (repeat: K1 K2 K1 K2), "
    "expected each in a row (repeat_interleave: K1 K1 K2 K2)"
)
TILED: dict[Groups, str] = {
    "tiled": f"key and value {_TILED}",
    "keys tiled": f"only the key {_TILED}",
    "values tiled": f"only the value {_TILED}",
}


@dataclass(frozen=True)
class Hypothesis:
    """How a module might compute attention from its projections; the defaults are right."""

    num_heads: int
    num_kv_heads: int
    split: Split = "heads"
    merge: Merge = "heads"
    divisor: Divisor | float = "√head_dim"
    axis: Axis = "keys"
    groups: Groups = "interleaved"
    mask: Masking = "right"
    rotary: Pairs | None = None
    theta: float = 0.0
    turns_values: bool = False
    softcap: float | None = None  # scaled scores become softcap · tanh(scores / softcap)


def one_thing_wrong(right: Hypothesis) -> Iterator[Hypothesis]:
    """Yield every hypothesis that differs from a right one in one thing."""
    for divisor in get_args(Divisor)[1:]:
        yield replace(right, divisor=divisor)
    yield replace(right, axis="queries")
    yield replace(right, axis="heads")
    if right.num_kv_heads not in (1, right.num_heads):
        for groups in TILED:
            yield replace(right, groups=groups)
    if right.num_heads > 1:
        yield replace(right, split="view")
        yield replace(right, split="across")
        yield replace(right, split="kv view")
        yield replace(right, merge="view")
        yield replace(right, merge="mean")
        yield replace(right, merge="sum")
        yield replace(right, split="view", merge="view")
    for mask in MASKS:
        if mask != "right":
            yield replace(right, mask=mask)


def divisor_value(how: Hypothesis, head_dim: int, input_dim: int, length: int) -> float:
    """Return the number that the scores are divided by."""
    if isinstance(how.divisor, float):
        return how.divisor
    embed_dim = head_dim * how.num_heads
    values: dict[Divisor, float] = {
        "√head_dim": math.sqrt(head_dim),
        "√embed_dim": math.sqrt(embed_dim),
        "1": 1.0,
        "head_dim": float(head_dim),
        "head_dim^¼": head_dim**0.25,
        "1/√head_dim": 1 / math.sqrt(head_dim),
        "√num_heads": math.sqrt(how.num_heads),
        "√num_kv_heads": math.sqrt(how.num_kv_heads),
        "√length": math.sqrt(length),
        "√input_dim": math.sqrt(input_dim),
        "embed_dim": float(embed_dim),
        "√(head_dim/2)": math.sqrt(head_dim / 2),
        "√(2·head_dim)": math.sqrt(2 * head_dim),
    }
    return values[how.divisor]


def turned(x: Tensor, pairs: Pairs | None, theta: float) -> Tensor:
    """Turn queries or keys (heads, length, head_dim) by their positions; not if `pairs` is None."""
    if pairs is None:
        return x
    positions = torch.arange(x.size(1), device=x.device)
    return apply_rotary(x[None], positions, theta=theta, interleaved=pairs == "neighbours")[0]


def repeat_heads(
    key: Tensor, value: Tensor, group: int, groups: Groups, dim: int
) -> tuple[Tensor, Tensor]:
    """Give each query head a key and a value head, in the order that `groups` names."""

    def repeated(tensor: Tensor, alone: Groups) -> Tensor:
        if groups in ("tiled", alone):
            return torch.cat([tensor] * group, dim)
        return tensor.repeat_interleave(group, dim)

    return repeated(key, "keys tiled"), repeated(value, "values tiled")


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, divisor: float, how: Hypothesis
) -> tuple[Tensor, Tensor]:
    """Return output (…, n, e) and weights (…, n, m) of heads, as `how` says.

    `mask` is boolean (n, m), True where a query may attend. In a row with nothing to attend to
    the weights are zero.
    """
    scores = query @ key.mT if how.axis != "swapped" else key @ query.mT
    scores = masked_scores(scores, mask, divisor, how.mask, how.softcap)
    dim = {"queries": -2, "heads": -3}.get(how.axis, -1)
    weights = torch.softmax(scores, dim).nan_to_num(0.0)
    if mask is not None and how.mask == "after":
        weights = weights * mask
    output = weights @ value
    if mask is not None and how.mask == "values":
        output = output * mask.any(-1, keepdim=True)
    return output, weights


def masked_scores(
    scores: Tensor,
    mask: Tensor | None,
    divisor: float,
    how: Masking,
    softcap: float | None = None,
) -> Tensor:
    """Scale and mask scores before the softmax."""
    if mask is not None and how == "before":
        return scores * mask / divisor
    scores = scores / divisor
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is None:
        return scores
    if how == "zero":
        return scores * mask
    if how == "added":
        return scores + mask
    kept = _kept(mask, how)
    return scores if kept is None else scores.masked_fill(~kept, -math.inf)


def _kept(mask: Tensor, how: Masking) -> Tensor | None:
    """Return the keys that are kept; None if none is removed before the softmax."""
    if how in ("transposed", "inverted and transposed") and mask.size(0) != mask.size(1):
        return None
    match how:
        case "right":
            return mask
        case "inverted":
            return ~mask
        case "transposed":
            return mask.mT
        case "inverted and transposed":
            return ~mask.mT
        case "first row":
            return mask[:1].expand_as(mask)
        case "columns":
            return mask.any(-2, keepdim=True).expand_as(mask)
        case "no diagonal":
            return mask & ~torch.eye(*mask.shape, dtype=torch.bool, device=mask.device)
        case "one ahead":
            ones = torch.ones_like(mask)
            return mask | (ones.triu(1) & ones.tril(1))
        case _:
            return None
