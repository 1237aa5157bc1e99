"""What the rules of rotary scaling have in common, and what rotary positions ask of them."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from attn_docs._checks import check_instance


class Pairs(NamedTuple):
    """The pairs that a rule makes frequencies for."""

    dim: int
    theta: float
    exponents: Tensor  # 2i/D, (D/2,)
    length: int | Tensor | None = None

    def plain(self, theta: float | Tensor | None = None) -> Tensor:
        """Return the frequencies without a rule, or those of another base."""
        return 1.0 / (self.theta if theta is None else theta) ** self.exponents


class RotaryScaling(ABC):
    """What every rule has: frequencies for the pairs, and a factor on cosine and sine."""

    attention: float = 1.0
    grows: ClassVar[bool] = False  # whether the frequencies change with the length of the text

    @abstractmethod
    def rescale(self, pairs: Pairs) -> Tensor:
        """Return their frequencies, with the exponents' dtype and device."""

    def check(self, pairs: Pairs) -> None:  # noqa: B027 - most rules take any
        """Refuse pairs that the rule has no frequencies for."""


def check_scaling(scaling: RotaryScaling | None, dim: int, theta: float) -> None:
    """Refuse anything but None or a rule that has frequencies for this size and base."""
    check_instance("scaling", scaling, RotaryScaling)
    if scaling is not None:
        scaling.check(Pairs(dim, theta, torch.empty(0)))


def frequencies(
    dim: int,
    theta: float,
    scaling: RotaryScaling | None,
    length: int | Tensor | None,
    *,
    dtype: torch.dtype,
    device: torch.device | str | None,
) -> Tensor:
    """Return the frequencies, for callers who have checked all; a length may be a tensor."""
    exponents = torch.arange(0, dim, 2, device=device).to(dtype) / dim  # 2i/D
    pairs = Pairs(dim, theta, exponents, length)
    return pairs.plain() if scaling is None else scaling.rescale(pairs)
