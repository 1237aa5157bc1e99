"""Attention in tiles, forward and backward: the matrix of weights is never in memory as a whole."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from attn_docs._checks import check_call, check_size
from attn_docs._dtypes import at_least_float32 as _wide


class _Call(NamedTuple):
    """What a call's forward and backward share besides tensors."""

    is_causal: bool
    scale: float
    dropout_p: float
    seed: int
    block_q: int
    block_k: int


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    block_q: int = 64,
    block_k: int = 64,
) -> Tensor:
    r"""Mix the values as `scaled_dot_product_attention` does, in tiles of queries and keys.

    $$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}
    + M\right) V$$

    A tile of at most `block_q` × `block_k` scores is made, used and forgotten. For the gradients
    it is made again, from the log of each row's sum of exponentials. So memory grows with n + m
    and not with n · m. Tiles that `is_causal` hides are never made. Half precision is computed in
    float32.

    It shows how FlashAttention works, and runs in Python: slower than PyTorch's kernels. It has no
    second derivative: its backward refuses `create_graph=True`. Nor does `torch.func` take it.

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`. Same dtype.
        value: (…, m, e) or (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`. Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive (float32 or the query's
            dtype, −∞ where it may not). Two axes (n, m) or more, each 1 or that of the scores
            (…, n, m), counted from the right. An additive mask may require a gradient.
        dropout_p: Probability, from 0 to 1, that a weight is dropped; the others grow by
            1/(1 − dropout_p). Which are dropped depends on the seed and on the tiles' sizes.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.
        block_q: Queries in a tile.
        block_k: Keys in a tile.

    Returns:
        (…, n, e) in the query's dtype; zeros for a query that may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `dropout_p`, `scale` or a block is out of range.
        RuntimeError: In the backward, if a second derivative is asked for.

    Example:
        ```python
        import torch

        from attn_docs import flash_attention, scaled_dot_product_attention

        query, key, value = (torch.randn(2, 8, 100, 16) for _ in range(3))
        tiles = flash_attention(query, key, value, is_causal=True, block_q=32, block_k=48)
        whole = scaled_dot_product_attention(query, key, value, is_causal=True)
        print(torch.allclose(tiles, whole, atol=1e-6))
        #> True
        ```

    Reference:
        Dao, "FlashAttention-2", algorithms 1 and 2, arXiv:2307.08691 (2023).
    """
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    check_size("block_q", block_q)
    check_size("block_k", block_k)
    if scale is None:
        scale = 1 / math.sqrt(max(query.size(-1), 1))
    seed = int(torch.randint(2**62, ())) if dropout_p else 0  # torch.manual_seed repeats it
    call = _Call(is_causal, scale, dropout_p, seed, block_q, block_k)
    tensors = _grouped(query, key, value, attn_mask)
    output: Tensor = _Tiled.apply(*tensors, call).flatten(-4, -3)  # type: ignore[no-untyped-call]
    return output.squeeze(0) if query.ndim == 2 else output


class _Tiled(Function):
    """Forward and backward in tiles, for autograd."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - PyTorch's own
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        call: _Call,
    ) -> Tensor:
        """Keep the inputs, the output and one number for each row: nothing of size n · m."""
        with torch.autocast(query.device.type, enabled=False):
            output, lse = _forward(query, key, value, mask, call)
        ctx.call = call
        ctx.save_for_backward(query, key, value, mask, output, lse)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Make the tiles again, and of them the gradients."""
        if torch.is_grad_enabled():  # else a second derivative would lack all that passes here
            raise RuntimeError(
                "flash_attention must be differentiated once, without create_graph; "
                "scaled_dot_product_attention has second derivatives"
            )
        with torch.autocast(grad.device.type, enabled=False):
            return *_backward(grad, ctx.saved_tensors, ctx.call, ctx.needs_input_grad[3]), None


def _forward(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, call: _Call
) -> tuple[Tensor, Tensor]:
    """Return the output (…, g, r, n, e) and the rows' log-sum-exp, +∞ where nothing is seen."""
    output = query.new_empty(*query.shape[:-1], value.size(-1))
    lse = _wide(query).new_empty(*query.shape[:-1], 1)
    keep = _dropout(call, query.device)
    for rows in _blocks(query.size(-2), call.block_q):
        q = _wide(query[..., rows, :])  # … r n d
        top = q.new_full((*q.shape[:-1], 1), -math.inf)  # the greatest score of each row so far
        total = q.new_zeros(top.shape)  # the sum of its powers exp(score - top)
        mixed = q.new_zeros(*q.shape[:-1], value.size(-1))  # … r n e, not yet divided
        for columns in _blocks(_seen(rows, key, call), call.block_k):
            scores = _scores(q, key, mask, rows, columns, call)  # … r n m
            new_top = torch.maximum(top, scores.amax(-1, keepdim=True))
            shift = new_top.masked_fill(new_top == -math.inf, 0.0)  # of a row with no key yet
            powers, shrink = (scores - shift).exp(), (top - shift).exp()
            total = total * shrink + powers.sum(-1, keepdim=True)
            mixed = mixed * shrink + torch.einsum(
                "...rnm,...me->...rne", powers * keep(powers), _wide(value[..., columns, :])
            )
            top = new_top
        empty = total == 0
        output[..., rows, :] = mixed / total.masked_fill(empty, 1.0)
        lse[..., rows, :] = (top + total.log()).masked_fill(empty, math.inf)
    return output, lse


def _backward(
    grad: Tensor, saved: tuple[Tensor, ...], call: _Call, mask_too: bool
) -> tuple[Tensor | None, ...]:
    """Return the gradients of query, key, value and, if it is asked for, of the mask."""
    query, key, value, mask, output, lse = saved
    d_query, d_key, d_value = (_wide(x).new_zeros(x.shape) for x in saved[:3])
    d_mask = torch.zeros_like(mask, dtype=lse.dtype) if mask is not None and mask_too else None
    keep = _dropout(call, query.device)
    for rows in _blocks(query.size(-2), call.block_q):
        q, d_out = _wide(query[..., rows, :]), _wide(grad[..., rows, :])  # … r n d, … r n e
        delta = (d_out * output[..., rows, :]).sum(-1, keepdim=True)  # … r n 1, the D of the paper
        for columns in _blocks(_seen(rows, key, call), call.block_k):
            k, v = _wide(key[..., columns, :]), _wide(value[..., columns, :])  # … m d, … m e
            scores = _scores(q, key, mask, rows, columns, call)  # … r n m, once more
            weights = (scores - lse[..., rows, :]).exp()
            kept = keep(weights)
            d_value[..., columns, :] += torch.einsum("...rnm,...rne->...me", weights * kept, d_out)
            d_weights = torch.einsum("...rne,...me->...rnm", d_out, v) * kept
            d_scores = weights * (d_weights - delta)
            if d_mask is not None:
                part = _part(d_mask, rows, columns)
                part += d_scores.sum_to_size(part.shape)
            d_scores = d_scores * call.scale
            d_query[..., rows, :] += torch.einsum("...rnm,...md->...rnd", d_scores, k)
            d_key[..., columns, :] += torch.einsum("...rnm,...rnd->...md", d_scores, q)
    found = (d_query, d_key, d_value, d_mask)
    return tuple(
        None if dx is None else dx.to(x.dtype) for x, dx in zip(saved, found, strict=False)
    )


def _scores(
    q: Tensor, key: Tensor, mask: Tensor | None, rows: slice, columns: slice, call: _Call
) -> Tensor:
    """Return one tile of scores, −∞ where attending is forbidden."""
    scores = torch.einsum("...rnd,...md->...rnm", q, _wide(key[..., columns, :])) * call.scale
    if mask is not None:
        part = _part(mask, rows, columns)
        is_bool = part.dtype == torch.bool
        scores = scores.masked_fill(~part, -math.inf) if is_bool else scores + part
    if call.is_causal and columns.stop > rows.start + 1:  # not all of it is below the diagonal
        i = torch.arange(rows.start, rows.stop, device=q.device).unsqueeze(-1)
        j = torch.arange(columns.start, columns.stop, device=q.device)
        scores = scores.masked_fill(j > i, -math.inf)
    return scores


def _blocks(length: int, size: int) -> list[slice]:
    """Cut a length into blocks, the last one shorter where it must be."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _seen(rows: slice, key: Tensor, call: _Call) -> int:
    """Return how many keys the last of these queries may see: later tiles are skipped."""
    return min(rows.stop, key.size(-2)) if call.is_causal else key.size(-2)


def _part(mask: Tensor, rows: slice, columns: slice) -> Tensor:
    """Return what a tile needs of a mask; an axis of size 1 holds for all."""
    whole = slice(None)
    return mask[..., rows if mask.size(-2) > 1 else whole, columns if mask.size(-1) > 1 else whole]


def _dropout(call: _Call, device: torch.device) -> Callable[[Tensor], Tensor | float]:
    """Return what gives each next tile its factors: 0 where a weight is dropped.

    Forward and backward visit the tiles in one order, so one seed gives both the same factors.
    """
    if not call.dropout_p:
        return lambda _: 1.0
    generator = torch.Generator(device).manual_seed(call.seed)

    def keep(weights: Tensor) -> Tensor:
        drawn = torch.rand(weights.shape, generator=generator, device=device)
        return (drawn >= call.dropout_p) / max(1 - call.dropout_p, 1e-30)

    return keep


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """View query as (…, g, r, n, d) for key and value (…, g, m, …); no head is copied."""
    if query.ndim == 2:
        query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
    kv_heads, heads = key.size(-3), query.size(-3)
    if value.size(-3) != kv_heads or heads == 1:  # shared in another way than in groups
        kv_heads = heads = max(heads, kv_heads, value.size(-3), key=lambda size: (size != 1, size))
    query = query.expand(*query.shape[:-3], heads, -1, -1)
    key, value = (x.expand(*x.shape[:-3], kv_heads, -1, -1) for x in (key, value))
    groups = (kv_heads, heads // max(kv_heads, 1))
    query = query.reshape(*query.shape[:-3], *groups, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        own = groups if mask.size(-3) > 1 else (1, 1)
        mask = mask.reshape(*mask.shape[:-3], *own, *mask.shape[-2:])
    return query, key, value, mask
