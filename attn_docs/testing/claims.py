"""What a reader says of a module: the checks build on it, and find out whether it is so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from attn_docs._checks import check_dropout, check_flag, check_positive, check_size
from attn_docs.testing.patterns import LENGTH, LENGTHS

Positions = Literal["added", "rotary"]
Weights = Literal["softmax", "sinks", "sigmoid"]


@dataclass(frozen=True)
class Claims:
    """What `check_module` was told; its arguments of the same names say more.

    Raises:
        TypeError: If a claim has the wrong type.
        ValueError: If a claim is out of range, or a window or prefix is said of a module that is
            not said to be causal.
    """

    causal: bool = False
    num_heads: int | None = None
    scale: float | None = None
    positions: bool | Positions = False
    window: int | None = None
    prefix: int | None = None
    dropout: float | None = None
    weights: Weights = "softmax"
    lengths: Sequence[int] = LENGTHS
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be so."""
        check_flag("causal", self.causal)
        if self.positions not in get_args(Positions):
            check_flag("positions", self.positions)  # type: ignore[arg-type]
        for name in ("num_heads", "window", "prefix"):
            if (size := getattr(self, name)) is not None:
                check_size(name, size)
                if name != "num_heads" and not self.causal:
                    raise ValueError(f"{name} must be said with causal=True; got causal=False")
        if self.scale is not None:
            check_positive("scale", self.scale)
        if self.dropout is not None:
            check_dropout(self.dropout)
        if self.weights not in get_args(Weights):
            raise ValueError(f"weights must be one of {get_args(Weights)}; got {self.weights!r}")
        _check_lengths(self.lengths)

    @property
    def length(self) -> int:
        """The length of most checks: 6, or what is nearest to it among those that were said."""
        long_enough = [length for length in self.lengths if length >= LENGTH]
        return min(long_enough, default=max(self.lengths))


def _check_lengths(lengths: Sequence[int]) -> None:
    if isinstance(lengths, str) or not isinstance(lengths, Sequence):
        raise TypeError(f"lengths must be a sequence of ints; got {lengths!r}")
    if not lengths:
        raise ValueError(f"lengths must hold at least one length; got {lengths!r}")
    for length in lengths:
        check_size("each of lengths", length)
