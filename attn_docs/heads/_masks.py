"""Masks as the modules with heads take them and pass them on."""

import torch
from torch import Tensor

from attn_docs._checks import check_mask
from attn_docs.memory.kv_cache import KVCache


def head_mask(
    attn_mask: Tensor | None, scores_shape: tuple[int, ...], query: Tensor
) -> Tensor | None:
    """Check a mask against the scores (batch, heads, n, m); return it with axes for them."""
    batch, _, n, m = scores_shape
    if isinstance(attn_mask, Tensor) and attn_mask.ndim == 3:
        check_mask("attn_mask", attn_mask, (batch, n, m), query)
        return attn_mask.unsqueeze(1)  # b 1 n m
    check_mask("attn_mask", attn_mask, scores_shape, query)
    return attn_mask


def and_mask(mask: Tensor | None, allowed: Tensor | None) -> Tensor | None:
    """Return a mask that lets through what both let through, one boolean and maybe absent."""
    # PyTorch's function takes attn_mask together with is_causal in one of its kernels only
    if mask is None or allowed is None:
        return allowed if mask is None else mask
    if mask.dtype == torch.bool:
        return mask & allowed
    return mask.masked_fill(~allowed, float("-inf"))


def cache_mask(
    mask: Tensor | None, cache: KVCache, kept: Tensor, new: int, is_causal: bool
) -> tuple[Tensor | None, bool]:
    """Return mask and is_causal for the kept keys that a cache returns for new positions."""
    seen = cache.length
    if mask is not None and mask.size(-1) == seen + new != len(kept):
        mask = mask[..., kept]
    if is_causal and not seen and mask is None and cache.window is None:
        return None, True  # from the first position on, PyTorch's is_causal says the same
    return and_mask(mask, cache.visible(new, is_causal=is_causal)), False
