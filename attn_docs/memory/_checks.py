"""Argument checks of caches and windows, in the words of the package's other checks."""

import torch
from torch import Tensor

from attn_docs._checks import check_length, check_same_kind, check_size, is_autocast


def check_cache(buffer: Tensor, x: Tensor, heads: int, size_name: str, size: int) -> None:
    """Check that what a cache keeps, (batch, heads, slots, size), is what a module makes of x."""
    batch, kept_heads, _, kept_size = buffer.shape
    if batch != x.size(0):
        raise ValueError(f"x must have the cache's batch {batch}; got {x.size(0)}")
    if kept_heads != heads:
        raise ValueError(f"cache must have num_kv_heads {heads}, as the module; got {kept_heads}")
    if kept_size != size:
        raise ValueError(f"cache must have {size_name} {size}, as the module; got {kept_size}")
    if not is_autocast(x):  # which casts to the cache's dtype and back
        check_same_kind("cache", buffer, "x", x)


def check_room(seen: int, new: int, capacity: int) -> None:
    """Refuse more positions than a cache has room for."""
    check_size("the number of new positions", new)
    if seen + new > capacity:
        raise ValueError(
            f"the cache must have room for {seen + new} positions, {seen} seen and {new} new; "
            f"got capacity {capacity}"
        )


def check_window(window: int | None, keep_first: int) -> None:
    """Refuse a window below 1, and first positions to be kept where nothing is dropped."""
    if window is not None:
        check_size("window", window)
    check_length("keep_first", keep_first)
    if window is None and keep_first:
        raise ValueError(f"keep_first must be 0 without a window; got {keep_first}")


def check_kept(key_padding_mask: Tensor | None, keep_first: int) -> None:
    """Refuse padding where the first positions are kept: a row's own would be dropped."""
    if key_padding_mask is None or not keep_first:
        return
    first = key_padding_mask[:, :keep_first]
    if first.is_meta or torch.compiler.is_compiling():
        return
    if not bool(first.all()):
        raise ValueError(
            f"key_padding_mask must be True for the first {keep_first} positions, which keep_first "
            "keeps: put the padding after them; got padding among them"
        )


def check_crop(length: int, seen: int, slots: int) -> None:
    """Refuse a length that a cache cannot go back to."""
    check_length("length", length)
    if length > seen:
        raise ValueError(f"length must be at most the cache's {seen}; got {length}")
    if length < seen and seen > slots:
        raise ValueError(
            f"length must be the cache's {seen}, or reset() used: its {slots} slots have been "
            f"written over; got {length}"
        )


def check_rows_of_batch(rows: Tensor) -> None:
    """Refuse anything but a list of the numbers of sequences, as a tensor."""
    if not isinstance(rows, Tensor):
        raise TypeError(f"rows must be a torch.Tensor; got {type(rows).__name__}")
    if rows.dtype not in (torch.int32, torch.int64):  # uint8 would be taken for a mask
        raise TypeError(f"rows must be torch.int32 or torch.int64; got {rows.dtype}")
    if rows.ndim != 1 or not len(rows):
        raise ValueError(
            f"rows must have one axis, and a number at least; got shape {tuple(rows.shape)}"
        )
