"""A padding mask beside another mask, as the modules take them."""

import math

import torch
from torch import Tensor

from attn_docs._checks import check_key_padding_mask, check_mask


def padded_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    scores_shape: tuple[int, ...],
    like: Tensor,
) -> Tensor | None:
    """Check both masks against the scores (batch, …, n, m); return one that holds both."""
    check_mask("attn_mask", attn_mask, scores_shape, like)
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        # beside float64, PyTorch 2.13's fused CPU kernel misreads a mask in float32; beside half
        # precision, kernels of CUDA refuse it
        attn_mask = attn_mask.to(like.dtype)
    batch, *others, m = scores_shape
    check_key_padding_mask(key_padding_mask, batch, m, like)
    if key_padding_mask is None:
        return attn_mask
    return and_mask(attn_mask, key_padding_mask.view(batch, *(1 for _ in others), m))


def and_mask(mask: Tensor | None, allowed: Tensor | None) -> Tensor | None:
    """Return a mask that lets through what both let through, one boolean and maybe absent."""
    if mask is None or allowed is None:
        return allowed if mask is None else mask
    return mask & allowed if mask.dtype == torch.bool else mask.masked_fill(~allowed, -math.inf)
