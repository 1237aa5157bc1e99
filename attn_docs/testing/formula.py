"""Attention by the formula, and by the formula with one thing wrong."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attn_docs.position.rotary import apply_rotary

# The wrong divisors seen in the wild, by the name a finding gives them.
DIVISORS = (
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
)

MASKS = {
    "right": "keys that are not allowed are removed before the softmax",
    "none": "the mask is not applied",
    "inverted": "the mask's polarity is inverted: True removes what it should keep",
    "transposed": "the mask's axes are swapped: it is read as (key, query)",
    "inverted and transposed": "the mask's polarity is inverted and its axes are swapped",
    "zero": "masked scores become 0, not −∞: a score of 0 still gets a weight",
    "added": "the boolean mask is added to the scores as 0 and 1",
    "after": "the mask multiplies the weights after the softmax: rows do not sum to 1",
    "before": "the mask is applied to the scores before they are scaled, as a factor",
    "values": "masked keys keep their weight; only rows of the output are zeroed",
    "columns": "a mask of pairs is read as one of keys: a key is hidden only if hidden from all",
    "no diagonal": "the mask is off by one: a position does not see itself",
    "one ahead": "the mask is off by one: a position sees the next one",
}

TILED = {
    which: f"{what} heads are repeated as a whole (repeat: K1 K2 K1 K2), "
    "expected each in a row (repeat_interleave: K1 K1 K2 K2)"
    for which, what in (
        ("tiled", "key and value"),
        ("keys tiled", "only the key"),
        ("values tiled", "only the value"),
    )
}


@dataclass(frozen=True)
class Hypothesis:
    """How a module might compute attention from its projections; the defaults are right."""

    num_heads: int
    num_kv_heads: int
    split: str = "heads"
    merge: str = "heads"
    divisor: str = "√head_dim"
    axis: str = "keys"
    groups: str = "interleaved"
    mask: str = "right"
    rotary: str = ""  # which numbers of a head are turned together: "neighbours" or "halves"
    theta: float = 0.0
    turns_values: bool = False

    def one_thing_wrong(self) -> Iterator["Hypothesis"]:
        """Yield every hypothesis that differs from this one in one thing."""
        for divisor in DIVISORS[1:]:
            yield replace(self, divisor=divisor)
        for axis in ("queries", "heads"):
            yield replace(self, axis=axis)
        if self.num_kv_heads not in (1, self.num_heads):
            for groups in ("tiled", "keys tiled", "values tiled"):
                yield replace(self, groups=groups)
        if self.num_heads > 1:
            for split in ("view", "across", "kv view"):
                yield replace(self, split=split)
            for merge in ("view", "mean", "sum"):
                yield replace(self, merge=merge)
            yield replace(self, split="view", merge="view")
        for mask in MASKS:
            if mask != "right":
                yield replace(self, mask=mask)


def divisor_value(
    name: str, hypothesis: Hypothesis, head_dim: int, input_dim: int, length: int
) -> float:
    """Return the number that the name of a divisor stands for."""
    embed_dim = head_dim * hypothesis.num_heads
    values: dict[str, float] = {
        "√head_dim": math.sqrt(head_dim),
        "√embed_dim": math.sqrt(embed_dim),
        "1": 1.0,
        "head_dim": float(head_dim),
        "head_dim^¼": head_dim**0.25,
        "1/√head_dim": 1 / math.sqrt(head_dim),
        "√num_heads": math.sqrt(hypothesis.num_heads),
        "√num_kv_heads": math.sqrt(hypothesis.num_kv_heads),
        "√length": math.sqrt(length),
        "√input_dim": math.sqrt(input_dim),
        "embed_dim": float(embed_dim),
        "√(head_dim/2)": math.sqrt(head_dim / 2),
        "√(2·head_dim)": math.sqrt(2 * head_dim),
    }
    return values[name] if name in values else float(name)


def turned(x: Tensor, how: Hypothesis) -> Tensor:
    """Turn queries or keys (heads, length, head_dim) by their positions, if `how` says so."""
    if not how.rotary:
        return x
    positions = torch.arange(x.size(1), device=x.device)
    interleaved = how.rotary == "neighbours"
    return apply_rotary(x[None], positions, theta=how.theta, interleaved=interleaved)[0]


def repeat_heads(
    key: Tensor, value: Tensor, group: int, groups: str, dim: int
) -> tuple[Tensor, Tensor]:
    """Give each query head a key and a value head, in the order that `groups` names."""

    def repeated(tensor: Tensor, tiled: tuple[str, str]) -> Tensor:
        if groups not in tiled:
            return tensor.repeat_interleave(group, dim)
        return torch.cat([tensor] * group, dim)

    return repeated(key, ("tiled", "keys tiled")), repeated(value, ("tiled", "values tiled"))


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, divisor: float, how: Hypothesis
) -> tuple[Tensor, Tensor]:
    """Return output (…, n, e) and weights (…, n, m) of heads, as `how` says.

    `mask` is boolean (n, m), True where a query may attend. In a row with nothing to attend to
    the weights are zero.
    """
    scores = query @ key.mT if how.axis != "swapped" else key @ query.mT
    if mask is not None and how.mask == "before":
        scores = scores * mask
    scores = scores / divisor
    kept = None if mask is None else _kept(mask, how.mask)
    if mask is not None and how.mask == "zero":
        scores = scores * mask
    if mask is not None and how.mask == "added":
        scores = scores + mask
    if kept is not None:
        scores = scores.masked_fill(~kept, -math.inf)
    dim = {"queries": -2, "heads": -3}.get(how.axis, -1)
    weights = torch.softmax(scores, dim).nan_to_num(0.0)
    if mask is not None and how.mask == "after":
        weights = weights * mask
    output = weights @ value
    if mask is not None and how.mask == "values":
        output = output * mask.any(-1, keepdim=True)
    return output, weights


def _kept(mask: Tensor, how: str) -> Tensor | None:
    ones = torch.ones_like(mask)
    kept = {
        "right": mask,
        "inverted": ~mask,
        "columns": mask.any(-2, keepdim=True).expand_as(mask),
        "no diagonal": mask & ~torch.eye(*mask.shape, dtype=torch.bool, device=mask.device),
        "one ahead": mask | (ones.triu(1) & ones.tril(1)),
    }
    if mask.size(0) == mask.size(1):
        kept |= {"transposed": mask.mT, "inverted and transposed": ~mask.mT}
    return kept.get(how)
