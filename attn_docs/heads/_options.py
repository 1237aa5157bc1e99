"""The options of multi-head attention, and what its modules make of them."""

from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor, nn

from attn_docs._checks import check_flag, check_instance, check_optional_flag, is_autocast
from attn_docs.position.rotary import RotaryEmbedding


class Options(TypedDict, total=False):
    """What `MultiHeadAttention` takes by name, whether heads share keys or not."""

    kv_dim: int | None
    head_dim: int | None
    bias: bool
    qkv_bias: bool | None
    out_bias: bool | None
    dropout: float
    scale: float | None
    window: int | None
    keep_first: int
    attend: Callable[..., Tensor]
    rotary: RotaryEmbedding | None
    q_norm: nn.Module | None
    k_norm: nn.Module | None
    v_norm: nn.Module | None
    gate: nn.Module | None


def has_biases(bias: bool, qkv_bias: bool | None, out_bias: bool | None) -> tuple[bool, bool]:
    """Check the three; return whether the projections in add a bias, and the one out."""
    check_flag("bias", bias)
    for name, value in (("qkv_bias", qkv_bias), ("out_bias", out_bias)):
        check_optional_flag(name, value)
    return bias if qkv_bias is None else qkv_bias, bias if out_bias is None else out_bias


def check_rotary(rotary: RotaryEmbedding | None, size: int) -> None:
    """Refuse anything but None or rotary positions for heads of this size."""
    check_instance("rotary", rotary, RotaryEmbedding)
    if rotary is not None and rotary.head_dim != size:
        raise ValueError(f"rotary must have head_dim {size}; got {rotary.head_dim}")


def check_rotary_cached(rotary: RotaryEmbedding | None) -> None:
    """Refuse, with a cache, frequencies that change: cached keys were rotated by earlier ones."""
    if rotary is not None and rotary.scaling is not None and rotary.scaling.grows:
        raise ValueError(
            "scaling must have fixed frequencies with a cache, as .at(length) returns: cached "
            f"keys were rotated by those of a shorter text; got {rotary.scaling}"
        )


def cache_dtype(dtype: torch.dtype | None, weight: Tensor) -> torch.dtype:
    """Return a dtype, or if it is None, that of what a linear layer with this weight makes."""
    if dtype is not None:
        return dtype
    return torch.get_autocast_dtype(weight.device.type) if is_autocast(weight) else weight.dtype


def one_hot(kept: Tensor | None, m: int, *, like: Tensor) -> Tensor:
    """Return the rows of an m × m identity for the kept keys, all if None, with axes like keys."""
    rows = torch.arange(m, device=like.device)
    rows = (rows if kept is None else kept).unsqueeze(-1) == rows  # F.one_hot reads its input back
    return rows.to(like.dtype).expand(*like.shape[:2], -1, -1)


def normed(norm: nn.Module | None, heads: Tensor) -> Tensor:
    """Return heads normalised, in the shape that they have, or as they are if None is given."""
    if norm is None:
        return heads
    made: Tensor = norm(heads)
    if made.shape != heads.shape:
        raise ValueError(
            f"a norm must return the shape that it gets, {tuple(heads.shape)}; "
            f"got {tuple(made.shape)}"
        )
    return made


def gated(heads: Tensor, gate: Tensor, num_heads: int) -> Tensor:
    """Multiply merged heads (batch, n, h·head_dim) by a gate's sigmoid, by head or by element."""
    batch, n, size = heads.shape
    if gate.shape == (batch, n, num_heads):
        gate = gate.repeat_interleave(size // num_heads, dim=-1)
    if gate.shape != heads.shape:
        raise ValueError(
            f"gate must return (batch, n, heads) = ({batch}, {n}, {num_heads}) or "
            f"(batch, n, heads·head_dim) = {tuple(heads.shape)}; got {tuple(gate.shape)}"
        )
    return heads * gate.sigmoid()


def set_options(module: nn.Module, *names: str) -> str:
    """Return those of a module's options that are set, as they stand in its repr."""
    values = {name: getattr(module, name) for name in names}
    return ", ".join(f"{name}={value}" for name, value in values.items() if value)
