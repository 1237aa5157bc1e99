"""Argument checks shared by the mechanisms: each message names argument, rule and value."""

import math
from numbers import Real

import torch
from torch import Tensor

FLOAT_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_float_tensor(name: str, value: object, *, min_axes: int = 0) -> None:
    """Refuse anything but a floating-point tensor with at least `min_axes` axes."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(value).__name__}")
    if value.dtype not in FLOAT_DTYPES:
        raise TypeError(
            f"{name} must be float16, bfloat16, float32 or float64; got {value.dtype}"
        )
    if value.ndim < min_axes:
        raise ValueError(
            f"{name} must have at least {min_axes} axes; got shape {tuple(value.shape)}"
        )


def check_same_kind(name: str, value: Tensor, reference_name: str, reference: Tensor) -> None:
    """Refuse a tensor whose dtype or device differs from the reference tensor's."""
    if value.dtype != reference.dtype:
        raise TypeError(
            f"{name} must have {reference_name}'s dtype {reference.dtype}; got {value.dtype}"
        )
    if value.device != reference.device:
        raise ValueError(
            f"{name} must be on {reference_name}'s device {reference.device}; got {value.device}"
        )


def check_flag(name: str, value: object) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def check_length(name: str, value: object) -> None:
    """Refuse anything but an int that is zero or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int; got {value!r}")
    if value < 0:
        raise ValueError(f"{name} must be 0 or more; got {value}")


def check_number(name: str, value: object) -> None:
    """Refuse anything but a finite int or float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be an int or a float; got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value!r}")


def check_probability(name: str, value: object) -> None:
    """Refuse anything but a number from 0 to 1."""
    check_number(name, value)
    if not 0.0 <= value <= 1.0:  # type: ignore[operator]
        raise ValueError(f"{name} must be from 0 to 1; got {value!r}")


def check_mask(name: str, mask: object, scores_shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse a mask that is neither boolean nor additive, or does not fit the scores."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor or None; got {type(mask).__name__}")
    if mask.dtype not in (torch.bool, torch.float32, like.dtype):
        allowed = " or ".join(dict.fromkeys(str(d) for d in (torch.float32, like.dtype)))
        raise TypeError(
            f"{name} must be torch.bool (True attends) or additive {allowed}; got {mask.dtype}"
        )
    if mask.device != like.device:
        raise ValueError(f"{name} must be on the device {like.device}; got {mask.device}")
    axes = mask.ndim
    fits = 2 <= axes <= len(scores_shape) and all(
        size in (1, full)
        for size, full in zip(mask.shape, scores_shape[len(scores_shape) - axes :], strict=True)
    )
    if not fits:
        raise ValueError(
            f"{name} must have 2 to {len(scores_shape)} axes, each 1 or that of the scores "
            f"{tuple(scores_shape)} counted from the right; got shape {tuple(mask.shape)}"
        )


def check_query_key(query: Tensor, key: Tensor, *, enable_gqa: bool) -> tuple[int, ...]:
    """Check the pair that makes the scores and return the scores' shape."""
    check_flag("enable_gqa", enable_gqa)
    check_float_tensor("query", query, min_axes=3 if enable_gqa else 2)
    check_float_tensor("key", key, min_axes=2)
    check_same_kind("key", key, "query", query)
    if key.ndim != query.ndim:
        raise ValueError(
            f"key must have as many axes as query {tuple(query.shape)}; "
            f"got shape {tuple(key.shape)}"
        )
    if key.size(-1) != query.size(-1):
        raise ValueError(
            f"key must have query's last size {query.size(-1)}; got {key.size(-1)}"
        )
    leading = _leading("key", key, query.shape[:-2], "query", enable_gqa=enable_gqa)
    return (*leading, query.size(-2), key.size(-2))


def check_value(value: Tensor, key: Tensor, scores_shape: tuple[int, ...], *, enable_gqa: bool) -> None:
    """Check the value against the key it is paired with."""
    check_float_tensor("value", value, min_axes=2)
    check_same_kind("value", value, "key", key)
    if value.ndim != key.ndim:
        raise ValueError(
            f"value must have as many axes as key {tuple(key.shape)}; got shape {tuple(value.shape)}"
        )
    if value.size(-2) != key.size(-2):
        raise ValueError(
            f"value must have one row for each of the {key.size(-2)} keys; got {value.size(-2)}"
        )
    if enable_gqa:
        if value.shape[:-2] != key.shape[:-2]:
            raise ValueError(
                f"value must have key's leading axes {tuple(key.shape[:-2])} with enable_gqa; "
                f"got {tuple(value.shape[:-2])}"
            )
    else:
        _leading("value", value, scores_shape[:-2], "query and key", enable_gqa=False)


def _leading(
    name: str, tensor: Tensor, wanted: tuple[int, ...], of: str, *, enable_gqa: bool
) -> tuple[int, ...]:
    """Match the axes before the last two; only a head axis of size 1 may be shared."""
    got = tuple(tensor.shape[:-2])
    wanted = tuple(wanted)
    has_heads = len(wanted) >= 2
    if enable_gqa:
        heads, kv_heads = wanted[-1], got[-1]
        if got[:-1] != wanted[:-1] or kv_heads == 0 or heads % kv_heads:
            raise ValueError(
                f"{name} must have {of}'s leading axes {wanted}, its heads a divisor of {heads}; "
                f"got {got}"
            )
        return wanted
    if got == wanted:
        return wanted
    if has_heads and got[:-1] == wanted[:-1] and 1 in (got[-1], wanted[-1]):
        return (*wanted[:-1], max(got[-1], wanted[-1]))
    hint = "; heads that divide evenly need enable_gqa=True" if has_heads else ""
    raise ValueError(
        f"{name} must have {of}'s leading axes {wanted}"
        f"{' (a head axis of 1 is shared)' if has_heads else ''}; got {got}{hint}"
    )
