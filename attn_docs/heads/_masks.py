"""Masks as the modules with heads take them and pass them on."""

import torch
from torch import Tensor

from attn_docs._checks import check_mask
from attn_docs.foundations._padding import and_mask, padded_mask
from attn_docs.foundations.masks import causal_mask
from attn_docs.memory._checks import check_kept
from attn_docs.memory.kv_cache import KVCache


def head_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    scores_shape: tuple[int, ...],
    query: Tensor,
    keep_first: int = 0,
) -> Tensor | None:
    """Check both masks against the scores (batch, heads, n, m); return one with their axes."""
    batch, _, n, m = scores_shape
    if isinstance(attn_mask, Tensor) and attn_mask.ndim == 3:
        check_mask("attn_mask", attn_mask, (batch, n, m), query)
        attn_mask = attn_mask.unsqueeze(1)  # b 1 n m
    mask = padded_mask(attn_mask, key_padding_mask, scores_shape, query)
    check_kept(key_padding_mask, keep_first)
    return mask


def cache_mask(
    mask: Tensor | None, cache: KVCache, new: int, is_causal: bool
) -> tuple[Tensor | None, bool]:
    """Return mask and is_causal for the kept keys that a cache returns for new positions.

    PyTorch's function takes not both of them with every kernel, so one is always None or False.
    """
    seen = cache.length
    if mask is not None and mask.size(-1) == seen + new:
        kept = cache.key_positions(new)
        mask = mask if len(kept) == seen + new else mask[..., kept]
    if is_causal and not seen and mask is None and cache.window is None:
        return None, True  # from the first position on, PyTorch's is_causal says the same
    return and_mask(mask, cache.visible(new, is_causal=is_causal)), False


def window_mask(
    mask: Tensor | None,
    window: tuple[int | None, int],
    n: int,
    m: int,
    is_causal: bool,
    device: torch.device,
) -> tuple[Tensor | None, bool]:
    """Return mask and is_causal, one of them None or False, for n queries of m keys, no cache.

    `window` is how many positions a query sees, and how many of the first ones besides.
    """
    width, first = window
    if width is not None and m > width + first:
        too_old = causal_mask(n, m, offset=-width, device=device)
        too_old[:, :first] = False
        mask = and_mask(mask, ~too_old)
    if mask is None or not is_causal:
        return mask, is_causal
    return and_mask(mask, causal_mask(n, m, device=device)), False
