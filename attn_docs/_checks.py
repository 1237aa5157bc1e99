"""Argument checks shared by the mechanisms: each message names argument, rule and value."""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Real

import torch
from torch import Tensor

FLOAT_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MAX_POSITION = 2**24  # beyond, float32 leaves integers out: two positions would be one
INT_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_flag(name: str, value: bool) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def check_optional_flag(name: str, value: bool | None) -> None:
    """Refuse anything but True, False or None."""
    if value is not None:
        check_flag(name, value)


def check_int(name: str, value: int) -> None:
    """Refuse anything but an int; NumPy's and the compiler's symbolic ints are ints too."""
    if isinstance(value, bool) or not isinstance(value, (Integral, torch.SymInt)):
        raise TypeError(f"{name} must be an int; got {value!r}")


def check_length(name: str, value: int) -> None:
    """Refuse anything but an int that is zero or more."""
    check_int(name, value)
    if value < 0:
        raise ValueError(f"{name} must be 0 or more; got {value}")


def check_axis(name: str, value: int, axes: int) -> None:
    """Refuse anything but the number of an axis, counted from either end."""
    check_int(name, value)
    if not -axes <= value < axes:
        raise ValueError(f"{name} must be from {-axes} to {axes - 1}; got {value}")


def check_number(name: str, value: float) -> None:
    """Refuse anything but a finite int or float, Python's or NumPy's."""
    # a Fraction is a Real that no tensor can be multiplied by
    if isinstance(value, (bool, Fraction)) or not isinstance(value, (Real, torch.SymFloat)):
        raise TypeError(f"{name} must be an int or a float; got {value!r}")
    if not -math.inf < value < math.inf:  # NaN is not either
        raise ValueError(f"{name} must be finite; got {value!r}")


def check_probability(name: str, value: float) -> None:
    """Refuse anything but a number from 0 to 1."""
    check_number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1; got {value!r}")


def check_dropout(value: float) -> None:
    """Refuse anything but a number from 0 up to, not including, 1."""
    check_number("dropout", value)
    if not 0 <= value < 1:
        raise ValueError(f"dropout must be 0 or more and below 1; got {value!r}")


def check_positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above zero."""
    check_number(name, value)
    if value <= 0:
        raise ValueError(f"{name} must be above 0; got {value!r}")


def check_least(name: str, value: float, least: float) -> None:
    """Refuse anything but a finite number that is `least` or more."""
    check_number(name, value)
    if value < least:
        raise ValueError(f"{name} must be {least} or more; got {value!r}")


def check_size(name: str, value: int) -> None:
    """Refuse anything but an int that is one or more."""
    check_int(name, value)
    if value < 1:
        raise ValueError(f"{name} must be 1 or more; got {value}")


def check_divides(name: str, value: int, whole_name: str, whole: int) -> None:
    """Refuse a number that does not divide the whole without a rest."""
    if whole % value:
        raise ValueError(f"{name} must divide {whole_name} = {whole}; got {value}")


def check_heads(embed_dim: int, num_heads: int, kv_dim: int, head_dim: int | None) -> int:
    """Check the sizes of an attention module with heads; return the size of a head."""
    for name, size in (("embed_dim", embed_dim), ("num_heads", num_heads), ("kv_dim", kv_dim)):
        check_size(name, size)
    if head_dim is None:
        check_divides("num_heads", num_heads, "embed_dim", embed_dim)
        return embed_dim // num_heads
    check_size("head_dim", head_dim)
    return head_dim


def check_rotary_dim(rotary_dim: int | None, head_dim: int) -> int:
    """Check how many numbers of a head are turned in pairs; return the number."""
    if rotary_dim is None:
        if head_dim % 2:
            raise ValueError(f"head_dim must be even, or rotary_dim given; got {head_dim}")
        return head_dim
    check_size("rotary_dim", rotary_dim)
    if rotary_dim % 2:
        raise ValueError(f"rotary_dim must be even; got {rotary_dim}")
    if rotary_dim > head_dim:
        raise ValueError(f"rotary_dim must be at most head_dim = {head_dim}; got {rotary_dim}")
    return rotary_dim


def check_positions(positions: Tensor, batch: int, length: int) -> None:
    """Refuse anything but integers of 0 or more, one for each place, or for each of each row."""
    if not isinstance(positions, Tensor):
        raise TypeError(f"positions must be a torch.Tensor; got {type(positions).__name__}")
    if positions.dtype not in INT_DTYPES:
        raise TypeError(f"positions must hold integers; got {positions.dtype}")
    if positions.shape not in ((length,), (batch, length)):
        raise ValueError(
            f"positions must have shape (length,) = ({length},) or (batch, length) = "
            f"({batch}, {length}); got {tuple(positions.shape)}"
        )
    # their values are on the device: a compiler or a tensor without values has none to look at
    if not positions.numel() or positions.is_meta or torch.compiler.is_compiling():
        return
    lowest, highest = (int(x) for x in positions.aminmax())
    if lowest < 0:
        raise ValueError(f"positions must be 0 or more; got {lowest}")
    if highest > MAX_POSITION:
        raise ValueError(f"positions must be at most {MAX_POSITION}; got {highest}")


def check_places(name: str, places: Tensor) -> None:
    """Refuse anything but integers, or floats that can hold them, of which float32 holds each."""
    if not isinstance(places, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(places).__name__}")
    if places.dtype not in (*INT_DTYPES, torch.float32, torch.float64):
        raise TypeError(f"{name} must hold integers, float32 or float64; got {places.dtype}")
    if not places.numel() or places.is_meta or torch.compiler.is_compiling():
        return
    for place in (x.item() for x in places.aminmax()):
        if not -MAX_POSITION <= place <= MAX_POSITION:  # NaN is not either
            rule = f"from -{MAX_POSITION} to {MAX_POSITION}"
            raise ValueError(f"{name} must be {rule}; got {place}")


def check_even(name: str, value: int) -> None:
    """Refuse anything but an even int above zero: a sine and a cosine for each frequency."""
    check_size(name, value)
    if value % 2:
        raise ValueError(
            f"{name} must be even, a sine and a cosine for each frequency; got {value}"
        )


def check_instance(name: str, value: object, *classes: type) -> None:
    """Refuse anything but an object of one of the classes, or None."""
    if value is not None and not isinstance(value, classes):
        names = " or ".join(c.__name__ for c in classes)
        raise TypeError(f"{name} must be a {names} or None; got {type(value).__name__}")


def check_key_padding_mask(mask: Tensor | None, batch: int, length: int, like: Tensor) -> None:
    """Refuse anything but booleans (batch, m), one for each key of each row."""
    if mask is None:
        return
    check_boolean("key_padding_mask", mask)
    if mask.shape != (batch, length):
        raise ValueError(
            f"key_padding_mask must have shape (batch, m) = ({batch}, {length}); "
            f"got {tuple(mask.shape)}"
        )
    if mask.device != like.device:
        raise ValueError(f"key_padding_mask must be on the device {like.device}; got {mask.device}")


def check_scale(scale: float | None) -> None:
    """Refuse anything but a finite number, or None for the usual scale."""
    if scale is not None:
        check_number("scale", scale)


def check_callable(name: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable; got {value!r}")


def check_lengths(lengths: Tensor | Sequence[int], max_len: int | None) -> tuple[Tensor, int]:
    """Check lengths and the length they are padded to; return them as a tensor and an int."""
    if not isinstance(lengths, Tensor):
        if isinstance(lengths, (str, bytes)) or not isinstance(lengths, Sequence):
            raise TypeError(
                f"lengths must be an integer tensor or a sequence of ints; got {lengths!r}"
            )
        for i, length in enumerate(lengths):
            check_length(f"lengths[{i}]", length)
        lengths = torch.tensor(lengths, dtype=torch.int64)
    if lengths.dtype not in INT_DTYPES:
        raise TypeError(f"lengths must hold integers; got {lengths.dtype}")
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have one axis (batch,); got shape {tuple(lengths.shape)}")
    shortest, longest = (int(x) for x in lengths.aminmax()) if len(lengths) else (0, 0)
    if shortest < 0:
        raise ValueError(f"lengths must be 0 or more; got {shortest}")
    if max_len is None:
        return lengths, longest
    check_length("max_len", max_len)
    if longest > max_len:
        raise ValueError(f"lengths must be at most max_len = {max_len}; got {longest}")
    return lengths, max_len


def check_rows(
    name: str, rows: Sequence[Sequence[float]], *, count: int | None = None, size: int | None = None
) -> None:
    """Refuse anything but `count` rows of `size` numbers each; None leaves a size open."""
    if not isinstance(rows, Sequence) or not all(isinstance(row, Sequence) for row in rows):
        raise TypeError(f"{name} must be a sequence of rows of numbers; got {rows!r}")
    if count is not None and len(rows) != count:
        raise ValueError(f"{name} must have {count} rows, one for each key; got {len(rows)}")
    for i, row in enumerate(rows):
        for j, number in enumerate(row):
            check_number(f"{name}[{i}][{j}]", number)
        if size is not None and len(row) != size:
            raise ValueError(f"{name}[{i}] must have {size} numbers; got {len(row)}")


def check_query_key_value_rows(
    query: Sequence[Sequence[float]],
    key: Sequence[Sequence[float]],
    value: Sequence[Sequence[float]],
) -> None:
    """Check the rows of numbers that are worked through by hand."""
    check_rows("key", key)
    if not key or not key[0]:
        raise ValueError(f"key must have at least one row of at least one number; got {key!r}")
    check_rows("key", key, size=len(key[0]))
    check_rows("query", query, size=len(key[0]))
    check_rows("value", value, count=len(key))
    check_rows("value", value, size=len(value[0]))


def check_float_tensor(name: str, value: Tensor, *, min_axes: int) -> None:
    """Refuse anything but a floating-point tensor with at least `min_axes` axes."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(value).__name__}")
    if value.dtype not in FLOAT_DTYPES:
        raise TypeError(f"{name} must be float16, bfloat16, float32 or float64; got {value.dtype}")
    if value.ndim < min_axes:
        raise ValueError(
            f"{name} must have at least {min_axes} axes; got shape {tuple(value.shape)}"
        )


def check_axes(name: str, tensor: Tensor, *axes: str) -> None:
    """Refuse anything but a floating-point tensor with exactly the named axes."""
    check_float_tensor(name, tensor, min_axes=0)
    if tensor.ndim != len(axes):
        raise ValueError(
            f"{name} must have {len(axes)} axes ({', '.join(axes)}); "
            f"got shape {tuple(tensor.shape)}"
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
        raise ValueError(f"key must have query's last size {query.size(-1)}; got {key.size(-1)}")
    if enable_gqa:
        leading = _grouped_leading(query, key)
    else:
        leading = _shared_leading("key", key, "query", tuple(query.shape[:-2]))
    return (*leading, query.size(-2), key.size(-2))


def check_value(
    value: Tensor, key: Tensor, scores_shape: tuple[int, ...], *, enable_gqa: bool
) -> None:
    """Check the value against the key it is paired with."""
    check_float_tensor("value", value, min_axes=2)
    check_same_kind("value", value, "key", key)
    if value.ndim != key.ndim:
        raise ValueError(
            f"value must have as many axes as key {tuple(key.shape)}; "
            f"got shape {tuple(value.shape)}"
        )
    if value.size(-2) != key.size(-2):
        raise ValueError(
            f"value must have one row for each of the {key.size(-2)} keys; got {value.size(-2)}"
        )
    if not enable_gqa:
        _shared_leading("value", value, "query and key", scores_shape[:-2])
    elif value.shape[:-2] != key.shape[:-2]:
        raise ValueError(
            f"value must have key's leading axes {tuple(key.shape[:-2])} with enable_gqa; "
            f"got {tuple(value.shape[:-2])}"
        )


def check_sequences(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    """Check batches of queries and of pairs, sizes of a query and a key apart."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_axes(name, tensor, "batch", "length", "size")
        check_same_kind(name, tensor, "query", query)
        if tensor.size(0) != query.size(0):
            raise ValueError(
                f"{name} must have query's batch {query.size(0)}; got {tensor.size(0)}"
            )
    if value.size(1) != key.size(1):
        raise ValueError(
            f"value must have one row for each of the {key.size(1)} keys; got {value.size(1)}"
        )
    return (query.size(0), query.size(1), key.size(1))


def check_points(query: Tensor, keys: Tensor, values: Tensor) -> tuple[int, int]:
    """Check places to predict at and pairs of numbers; return the scores' shape."""
    for name, tensor in (("query", query), ("keys", keys), ("values", values)):
        check_float_tensor(name, tensor, min_axes=1)
        if tensor.ndim != 1:
            raise ValueError(f"{name} must have 1 axis; got shape {tuple(tensor.shape)}")
        check_same_kind(name, tensor, "query", query)
    if len(values) != len(keys):
        raise ValueError(
            f"values must have one number for each of the {len(keys)} keys; got {len(values)}"
        )
    return len(query), len(keys)


def check_width(value: float | Tensor) -> None:
    """Refuse anything but a finite number above zero, plain or in a tensor of no axes."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise ValueError(
                f"width must be a number or a tensor of no axes; got shape {tuple(value.shape)}"
            )
        value = value.item()
    check_positive("width", value)


def check_last_size(name: str, tensor: Tensor, what: str, size: int) -> None:
    """Refuse a tensor whose last axis has another size than wanted."""
    if tensor.size(-1) != size:
        raise ValueError(f"{name} must have {what} {size} as its last size; got {tensor.size(-1)}")


def check_sequence(name: str, tensor: Tensor, what: str, size: int, weight: Tensor) -> None:
    """Check a module's input (batch, length, size) against the weight that multiplies it."""
    check_axes(name, tensor, "batch", "length", what)
    check_last_size(name, tensor, what, size)
    if not is_autocast(tensor):  # which gives a linear layer's input the dtype it wants
        check_same_kind(name, tensor, "the weight", weight)


def is_autocast(tensor: Tensor) -> bool:
    """Say if PyTorch chooses the dtype that operations on a tensor are computed in."""
    device = tensor.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def check_context(
    x: Tensor, context: Tensor, what: str, size: int, weight: Tensor
) -> tuple[int, int, int]:
    """Check the sequence attended to, beside the sequence that asks; return (batch, n, m)."""
    check_sequence("context", context, what, size, weight)
    if context.size(0) != x.size(0):
        raise ValueError(f"context must have x's batch {x.size(0)}; got {context.size(0)}")
    return x.size(0), x.size(1), context.size(1)


def check_options(
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    scores_shape: tuple[int, ...],
    query: Tensor,
) -> None:
    """Check what changes the scores of `query` once they are made."""
    check_flag("is_causal", is_causal)
    check_scale(scale)
    check_mask("attn_mask", attn_mask, scores_shape, query)


def check_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> None:
    """Check the arguments of an attention function with PyTorch's signature."""
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    check_probability("dropout_p", dropout_p)
    check_options(attn_mask, is_causal, scale, shape, query)


def check_mask(name: str, mask: Tensor | None, scores_shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse a mask that is neither boolean nor additive, or does not fit the scores."""
    if mask is None:
        return
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor or None; got {type(mask).__name__}")
    if mask.dtype not in (torch.bool, torch.float32, like.dtype):
        allowed = " or ".join(dict.fromkeys(str(d) for d in (torch.float32, like.dtype)))
        raise TypeError(
            f"{name} must be torch.bool (True attends) or additive {allowed}; got {mask.dtype}"
        )
    if mask.device != like.device:
        raise ValueError(f"{name} must be on the device {like.device}; got {mask.device}")
    # one axis alone does not say whether it counts queries or keys
    least, most = min(2, len(scores_shape)), len(scores_shape)
    fits = least <= mask.ndim <= most and all(
        size in (1, full)
        for size, full in zip(mask.shape, scores_shape[most - mask.ndim :], strict=True)
    )
    if not fits:
        raise ValueError(
            f"{name} must have {least} to {most} axes, each 1 or that of the scores "
            f"{scores_shape} counted from the right; got shape {tuple(mask.shape)}"
        )


def check_scores(name: str, scores: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse what a score method returned unless it is one number for each query and key."""
    if not isinstance(scores, Tensor):
        raise TypeError(f"{name} must return a torch.Tensor; got {type(scores).__name__}")
    if scores.dtype not in FLOAT_DTYPES:
        raise TypeError(
            f"{name} must return float16, bfloat16, float32 or float64; got {scores.dtype}"
        )
    if scores.shape != shape:
        raise ValueError(
            f"{name} must return shape (batch, n, m) = {shape}; got {tuple(scores.shape)}"
        )


def check_float_dtype(name: str, dtype: torch.dtype) -> None:
    """Refuse anything but a floating-point dtype that attention is computed in."""
    if dtype not in FLOAT_DTYPES:
        raise TypeError(f"{name} must be float16, bfloat16, float32 or float64; got {dtype!r}")


def check_boolean(name: str, mask: Tensor) -> None:
    """Refuse anything but a boolean tensor."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must be torch.bool; got {mask.dtype}")


def check_mask_values(name: str, mask: Tensor) -> None:
    """Refuse anything but booleans, integers 1 and 0, or floats 0 and −∞."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor; got {type(mask).__name__}")
    if mask.dtype == torch.bool:
        return
    other: float
    if mask.dtype in INT_DTYPES:
        rule, other = "1 (attends) or 0 in an integer mask", 1
    elif mask.dtype in FLOAT_DTYPES:
        rule, other = "0 (attends) or -inf in a float mask", -math.inf
    else:
        raise TypeError(f"{name} must be boolean, integer or floating-point; got {mask.dtype}")
    neither = (mask != 0) & (mask != other)
    if neither.any():
        raise ValueError(f"{name} must be {rule}; got {mask[neither][0].item()}")


def _grouped_leading(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Match the axes before the last two; each key head serves as many query heads."""
    wanted, got = tuple(query.shape[:-2]), tuple(key.shape[:-2])
    if got[:-1] != wanted[:-1] or got[-1] == 0 or wanted[-1] % got[-1]:
        raise ValueError(
            f"key must have query's leading axes {wanted}, its heads a divisor of {wanted[-1]}; "
            f"got {got}"
        )
    return wanted


def _shared_leading(
    name: str, tensor: Tensor, wanted_name: str, wanted: tuple[int, ...]
) -> tuple[int, ...]:
    """Match the axes before the last two; only a head axis of size 1 may be shared."""
    got = tuple(tensor.shape[:-2])
    if got == wanted:
        return wanted
    rule, hint = f"{wanted_name}'s leading axes {wanted}", ""
    if len(wanted) >= 2:
        rule += " (a head axis of 1 is shared)"
        if got[:-1] == wanted[:-1]:
            heads, kv_heads = wanted[-1], got[-1]
            if heads == 1 or kv_heads == 1:
                return (*wanted[:-1], kv_heads if heads == 1 else heads)
            if kv_heads and heads % kv_heads == 0:
                hint = "; enable_gqa=True lets each key head serve several query heads"
    raise ValueError(f"{name} must have {rule}; got {got}{hint}")
