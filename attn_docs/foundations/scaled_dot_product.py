"""Scaled dot-product attention, the explicit formula: score, mask, normalise, mix."""

import math

import torch
from torch import Tensor

from attn_docs._checks import (
    check_axis,
    check_call,
    check_float_tensor,
    check_mask,
    check_options,
    check_query_key,
)
from attn_docs._dtypes import at_least_float32
from attn_docs.foundations.masks import causal_mask


def masked_softmax(scores: Tensor, mask: Tensor | None = None, dim: int = -1) -> Tensor:
    r"""Turn scores into weights that are zero wherever the mask forbids to attend.

    $$w_j = \frac{\exp(s_j)}{\sum_{l \text{ allowed}} \exp(s_l)} \text{ if } j \text{ is
    allowed, else } 0$$

    A score of −∞ counts as forbidden. A row with nothing allowed gives zeros, with zero
    gradients, where `torch.softmax` gives NaN. Half precision is computed in float32.

    Args:
        scores: Any shape with at least one axis; float16, bfloat16, float32 or float64.
        mask: Boolean, True where attending is allowed, or additive (float32 or `scores`'
            dtype, −∞ where it is not). At least two axes if the scores have them, each 1 or
            that of the scores, counted from the right.
        dim: Axis that the weights sum to one over: the keys.

    Returns:
        Weights with `scores`' shape and dtype.

    Raises:
        TypeError: If `scores` is not a floating-point tensor, or `mask` is neither boolean nor
            additive.
        ValueError: If the mask does not fit the scores, or `dim` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import masked_softmax

        scores = torch.zeros(2, 3)
        mask = torch.tensor([[True, True, False], [False, False, False]])
        print(masked_softmax(scores, mask))
        #> tensor([[0.5000, 0.5000, 0.0000],
        #>         [0.0000, 0.0000, 0.0000]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """
    check_float_tensor("scores", scores, min_axes=1)
    check_axis("dim", dim, scores.ndim)
    check_mask("mask", mask, tuple(scores.shape), scores)
    return _masked_softmax(at_least_float32(scores), mask, dim).to(scores.dtype)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Return how much each query attends to each key.

    $$W = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}} + M\right)$$

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d).
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`.
        attn_mask: Boolean, True where a query may attend, or additive; see
            `scaled_dot_product_attention`.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key heads serves h/g query heads in a row.

    Returns:
        Weights (…, n, m) in the query's dtype. Each row sums to 1, or is all zero where the
        query may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `scale` is not finite.

    Example:
        ```python
        import torch

        from attn_docs import attention_weights

        query = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        print(attention_weights(query, torch.eye(3)))
        #> tensor([[0.2645, 0.4711, 0.2645],
        #>         [0.2645, 0.2645, 0.4711],
        #>         [0.2192, 0.3904, 0.3904]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", equation 1, arXiv:1706.03762 (2017).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_options(attn_mask, is_causal, scale, shape, query)
    return _weights(query, key, attn_mask, is_causal, scale, enable_gqa).to(query.dtype)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Mix the values, each weighted by how well its key matches the query.

    $$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}
    + M\right) V$$

    Takes the place of `torch.nn.functional.scaled_dot_product_attention`: the same arguments,
    the same numbers. It always takes `attn_mask` together with `is_causal`. PyTorch 2.13 takes both
    on its fused CPU kernel only (four axes, no dropout, keys and values of one size, a mask
    without gradient), and refuses them elsewhere.

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`. Same dtype.
        value: (…, m, e) or (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`. Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive (float32 or the query's
            dtype, −∞ where it may not). Two axes (n, m) or more, each 1 or that of the scores
            (…, n, m), counted from the right.
        dropout_p: Probability, from 0 to 1, that a weight is dropped; the others grow by
            1/(1 − dropout_p). Always applied: pass 0.0 outside training.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, n, e) in the query's dtype; zeros for a query that may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `dropout_p` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import scaled_dot_product_attention

        query = torch.tensor([[0.0, 2.0]])
        key = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        value = torch.tensor([[10.0, 0.0], [0.0, 10.0]])
        print(scaled_dot_product_attention(query, key, value))
        #> tensor([[1.9557, 8.0443]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", equation 1, arXiv:1706.03762 (2017).
    """
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    weights = _weights(query, key, attn_mask, is_causal, scale, enable_gqa)  # … n m
    return _mix(weights, value, dropout_p, enable_gqa).to(query.dtype)  # … n e


def _weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    scores = _hide_later(_scores(query, key, scale, enable_gqa), is_causal)
    return _masked_softmax(scores, attn_mask, -1)


def _scores(query: Tensor, key: Tensor, scale: float | None, enable_gqa: bool) -> Tensor:
    query, key = at_least_float32(query), at_least_float32(key)
    if enable_gqa:
        key = _repeat_heads(key, query.size(-3))
    if scale is None:
        # without components every score is 0 anyway
        scale = 1 / math.sqrt(max(query.size(-1), 1))
    return query @ key.mT * scale  # … n m


def _hide_later(scores: Tensor, is_causal: bool) -> Tensor:
    if not is_causal:
        return scores
    allowed = causal_mask(scores.size(-2), scores.size(-1), device=scores.device)
    return scores.masked_fill(~allowed, float("-inf"))


def _mix(weights: Tensor, value: Tensor, dropout_p: float, enable_gqa: bool) -> Tensor:
    weights = torch.dropout(weights, dropout_p, train=True)
    if enable_gqa:
        value = _repeat_heads(value, weights.size(-3))
    return weights @ at_least_float32(value)


def _hide(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, float("-inf"))
    return scores + mask


def _masked_softmax(scores: Tensor, mask: Tensor | None, dim: int) -> Tensor:
    scores = _hide(scores, mask)
    # softmax of a row of −∞ is NaN, forward and backward: such a row is set aside
    empty = (scores == float("-inf")).all(dim, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim).masked_fill(empty, 0.0)


def _repeat_heads(x: Tensor, heads: int) -> Tensor:
    return x.repeat_interleave(heads // x.size(-3), dim=-3)  # … h m d
