"""Attention in parts: each part gives an output and a log-sum-exp, and these merge exactly."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from attn_docs._checks import (
    check_axis,
    check_flag,
    check_float_tensor,
    check_length,
    check_options,
    check_query_key,
    check_size,
    check_value,
)
from attn_docs._dtypes import at_least_float32
from attn_docs.foundations.scaled_dot_product import masked_softmax

INF = math.inf


def attention_with_lse(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    r"""Attend, and return beside the output the log-sum-exp of each query's scores.

    $$O_p = \operatorname{softmax}(S_p)\, V_p \qquad \operatorname{lse}_{p,i} = \log \sum_j
    \exp(s_{ij}) \qquad S_p = \frac{Q K_p^\top}{\sqrt{d}} + M_p$$

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`. m may be 0.
        value: (…, m, e) or (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`.
        attn_mask: Boolean, True where a query may attend, or additive.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        The output (…, n, e) in the query's dtype, and the log-sum-exp (…, n), float32 or, of
        float64, float64. A query that may attend to nothing has zeros and −∞.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `scale` is not finite.

    Example:
        ```python
        import torch

        from attn_docs import attention_with_lse

        query, key = torch.tensor([[1.0]]), torch.zeros(4, 1)
        output, lse = attention_with_lse(query, key, torch.tensor([[0.0], [0.0], [0.0], [8.0]]))
        print(output, lse.exp())
        #> tensor([[2.]]) tensor([4.])
        ```

    Reference:
        Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv:2112.05682 (2021).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    check_options(attn_mask, is_causal, scale, shape, query)
    if enable_gqa:
        query, key, value, attn_mask = _grouped(query, key, value, attn_mask)
    output, lse = _attend(query, key, value, attn_mask, 0 if is_causal else None, scale)
    if enable_gqa:
        output, lse = output.flatten(-4, -3), lse.flatten(-3, -2)
    return output.to(query.dtype), lse


def merge_attention(outputs: Sequence[Tensor], lses: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    r"""Merge what attention gave over parts of the keys into what it gives over all of them.

    $$O = \sum_p w_p\, O_p \qquad w = \operatorname{softmax}_p(\operatorname{lse}_p) \qquad
    \operatorname{lse} = \log \sum_p \exp(\operatorname{lse}_p)$$

    Exact, in any order and any grouping: the result is a part itself. A part whose log-sum-exp is
    −∞ had nothing to attend to and has no influence, whatever its output holds. One of +∞, which
    FlashAttention-2 returns for a query without keys, gives NaN: turn it into −∞ first.

    Args:
        outputs: For each part (…, n, e), all of one shape and dtype.
        lses: For each part (…, n), natural logarithms, as `attention_with_lse` returns them.

    Returns:
        The output (…, n, e) in the parts' dtype, and the log-sum-exp (…, n). Where all parts are
        empty, zeros and −∞, with finite gradients.

    Raises:
        TypeError: If a part is not a floating-point tensor.
        ValueError: If there is no part, or the shapes do not fit.

    Example:
        ```python
        import torch

        from attn_docs import merge_attention

        two, six = torch.tensor([[2.0]]), torch.tensor([[6.0]])
        output, lse = merge_attention([two, six], [torch.tensor([3.0]).log(), torch.zeros(1)])
        print(output, lse.exp())
        #> tensor([[3.]]) tensor([4.])
        ```

    Reference:
        Ye et al., "FlashInfer", section 2.2, arXiv:2501.01005 (2025).
    """
    _check_parts(outputs, lses)
    lse = at_least_float32(torch.stack(tuple(lses)))  # p … n
    output = torch.stack(tuple(outputs)).to(lse.dtype)  # p … n e
    output = output.masked_fill((lse == -INF).unsqueeze(-1), 0.0)
    weights = masked_softmax(lse, dim=0).unsqueeze(-1)  # p … n 1
    return (weights * output).sum(0).to(outputs[0].dtype), _log_sum_exp(lse, 0)


def split_kv_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    splits: int,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend to the keys in several parts, each as another processor could, and merge.

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`.
        value: (…, m, e) or (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`.
        splits: Number of parts; they differ by one key at most, and some may be empty.
        attn_mask: Boolean, True where a query may attend, or additive; split as the keys are.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, n, e) in the query's dtype: the numbers of `scaled_dot_product_attention`.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `splits` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import scaled_dot_product_attention, split_kv_attention

        query, key, value = torch.randn(1, 4), torch.randn(10, 4), torch.randn(10, 2)
        whole = scaled_dot_product_attention(query, key, value)
        print(torch.allclose(split_kv_attention(query, key, value, splits=3), whole, atol=1e-6))
        #> True
        ```

    Reference:
        Dao, Haziza, Massa and Sizov, "Flash-Decoding for long-context inference" (2023).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    check_size("splits", splits)
    check_options(attn_mask, is_causal, scale, shape, query)
    if enable_gqa:
        query, key, value, attn_mask = _grouped(query, key, value, attn_mask)
    outputs, lses, first = [], [], 0
    pairs = zip(key.tensor_split(splits, -2), value.tensor_split(splits, -2), strict=True)
    for part, its_value in pairs:
        mask = attn_mask
        if mask is not None and mask.size(-1) > 1:
            mask = mask[..., first : first + part.size(-2)]
        first_key = first if is_causal else None
        output, lse = _attend(query, part, its_value, mask, first_key, scale)
        outputs.append(output)
        lses.append(lse)
        first += part.size(-2)
    merged = merge_attention(outputs, lses)[0].to(query.dtype)
    return merged.flatten(-4, -3) if enable_gqa else merged


def ring_split(x: Tensor, ranks: int, *, zigzag: bool = False, dim: int = -2) -> tuple[Tensor, ...]:
    """Cut a sequence into the parts that the ranks of a ring hold.

    Without `zigzag`, rank r holds the r-th of `ranks` chunks. With it, there are twice as many
    chunks, and rank r holds the r-th from the front and the r-th from the back.

    Args:
        x: Any tensor; the axis `dim` is the sequence.
        ranks: Number of ranks.
        zigzag: If True, a chunk from the front and one from the back for each rank.
        dim: Axis that is cut.

    Returns:
        For each rank its part, all of one size.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the chunks would differ in size, or `dim` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import ring_split

        parts = ring_split(torch.arange(8), ranks=2, zigzag=True, dim=0)
        print([part.tolist() for part in parts])
        #> [[0, 1, 6, 7], [2, 3, 4, 5]]
        ```
    """
    check_size("ranks", ranks)
    check_flag("zigzag", zigzag)
    check_axis("dim", dim, x.ndim)
    count = 2 * ranks if zigzag else ranks
    if x.size(dim) % count:
        raise ValueError(f"x must have a length that {count} divides; got {x.size(dim)}")
    chunks = x.tensor_split(count, dim)
    return tuple(
        torch.cat([chunks[c] for c in _chunks(rank, ranks, zigzag)], dim) for rank in range(ranks)
    )


def ring_join(parts: Sequence[Tensor], *, zigzag: bool = False, dim: int = -2) -> Tensor:
    """Put the parts that the ranks hold into one sequence again: the inverse of `ring_split`.

    Args:
        parts: For each rank its part, all of one shape.
        zigzag: As they were split.
        dim: Axis that was cut.

    Returns:
        The whole sequence.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If there is no part, `dim` is out of range, or with `zigzag` a part has an odd
            length.

    Example:
        ```python
        import torch

        from attn_docs import ring_join

        parts = torch.tensor([0, 1, 6, 7]), torch.tensor([2, 3, 4, 5])
        print(ring_join(parts, zigzag=True, dim=0))
        #> tensor([0, 1, 2, 3, 4, 5, 6, 7])
        ```
    """
    check_size("the number of parts", len(parts))
    check_flag("zigzag", zigzag)
    check_axis("dim", dim, parts[0].ndim)
    count = 2 if zigzag else 1
    found: dict[int, Tensor] = {}
    for rank, part in enumerate(parts):
        _check_halves(part.size(dim), zigzag)
        names = _chunks(rank, len(parts), zigzag)
        found.update(zip(names, part.tensor_split(count, dim), strict=True))
    return torch.cat([found[name] for name in sorted(found)], dim)


def ring_tiles(
    rank: int, ranks: int, *, is_causal: bool = False, zigzag: bool = False
) -> list[list[tuple[int, int]]]:
    """Return what a rank of the ring computes: for each step the pairs of chunks, query and key.

    In step t a rank holds the keys of the rank t places before it. Of a causal mask it computes
    the tiles below the diagonal, where the key chunk comes first, and those on it.

    Args:
        rank: Which rank, from 0.
        ranks: Number of ranks.
        is_causal: If True, chunks of keys that come after the queries are left out.
        zigzag: If True, each rank holds two of 2 · `ranks` chunks, else one of `ranks`.

    Returns:
        For each of the `ranks` steps a list of (query chunk, key chunk).

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `rank` is not below `ranks`, or `zigzag` is asked for without `is_causal`.

    Example:
        ```python
        from attn_docs import ring_tiles

        print(ring_tiles(1, ranks=2, is_causal=True, zigzag=True))
        #> [[(1, 1), (2, 1), (2, 2)], [(1, 0), (2, 0)]]
        ```
    """
    check_size("ranks", ranks)
    check_length("rank", rank)
    if rank >= ranks:
        raise ValueError(f"rank must be below ranks = {ranks}; got {rank}")
    _check_order(is_causal, zigzag)
    return [
        [
            (a, b)
            for a in _chunks(rank, ranks, zigzag)
            for b in _chunks((rank - step) % ranks, ranks, zigzag)
            if b <= a or not is_causal
        ]
        for step in range(ranks)
    ]


def ring_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    group: dist.ProcessGroup | None = None,
    is_causal: bool = False,
    zigzag: bool = False,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend over a sequence of which each process holds a part; keys and values travel.

    In each of R steps a rank attends with its own queries to the keys that it holds, merges, and
    passes keys and values on to the next rank. Its gradients do the same: backward sends keys,
    values and their gradients once round the ring. Each rank must call it, forward and backward.

    Args:
        query: This rank's part (…, n, d), as `ring_split` cuts it; the same shape on all ranks.
        key: This rank's part (…, n, d), with the query's leading axes; g heads with `enable_gqa`.
        value: This rank's part (…, n, e), with the key's leading axes.
        group: The processes of the ring; all of them if None.
        is_causal: If True, each query sees the keys up to its own place in the whole sequence.
        zigzag: If True, with `is_causal`, the parts were cut by `ring_split(…, zigzag=True)`.
        enable_gqa: If True, each of the g heads that travel serves h/g query heads in a row.

    Returns:
        This rank's part of the output, (…, n, e), in the query's dtype.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit or differ between ranks, or no process group is there.
        RuntimeError: If a neighbour does not answer within the group's timeout.

    Example:
        ```python
        # skip: one program cannot show it; the chapter starts four processes
        from attn_docs import ring_attention, ring_split

        part = [ring_split(x, ranks=4, zigzag=True)[rank] for x in (query, key, value)]
        output = ring_attention(*part, is_causal=True, zigzag=True)
        ```

    Reference:
        Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite
        Context", arXiv:2310.01889 (2023).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    _check_order(is_causal, zigzag)
    _check_halves(query.size(-2), zigzag)
    wanted = (*(key if enable_gqa else query).shape[:-2], query.size(-2))
    for name, other in (("key", key), ("value", value)):
        if other.shape[:-1] != wanted:
            raise ValueError(
                f"{name} must have leading axes and length {wanted}; got {tuple(other.shape[:-1])}"
            )
    if not dist.is_initialized():
        raise ValueError("torch.distributed must be initialised on each rank; got no process group")
    told = (tuple(query.shape), tuple(value.shape), str(query.dtype), is_causal, zigzag)
    _check_same_on_all(told, group)
    if enable_gqa:
        query, key, value, _ = _grouped(query, key, value, None)
    output: Tensor = _Ring.apply(query, key, value, group, is_causal, zigzag)  # type: ignore[no-untyped-call]
    return output.flatten(-4, -3) if enable_gqa else output


class _Ring(torch.autograd.Function):
    """Forward and backward round the ring; what is saved in between is this rank's part alone."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - as PyTorch has it
        query: Tensor,
        key: Tensor,
        value: Tensor,
        group: dist.ProcessGroup | None,
        is_causal: bool,
        zigzag: bool,
    ) -> Tensor:
        ctx.ring = group, is_causal, zigzag
        found: dict[int, tuple[Tensor, Tensor]] = {}  # query chunk -> output, log-sum-exp
        here = [key, value]
        for left, tiles in _steps(*ctx.ring):
            coming, wait = _pass_on(here if left else [], group)  # while this rank computes
            for i, j, first_key in tiles:
                q, (k, v) = _chunk(query, i, zigzag), (_chunk(x, j, zigzag) for x in here)
                part = _attend(q, k, v, None, first_key, None)
                parts = [found[i], part] if i in found else [part]
                found[i] = merge_attention(*zip(*parts, strict=True))
            wait()
            here = coming
        output = torch.cat([found[i][0] for i in sorted(found)], -2)
        lse = torch.cat([found[i][1] for i in sorted(found)], -1)
        ctx.save_for_backward(query, key, value, output, lse)
        return output.to(query.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        query, key, value, output, lse = ctx.saved_tensors
        group, _, zigzag = ctx.ring
        grad = grad_output.to(lse.dtype)
        delta = (grad * output).sum(-1, keepdim=True)  # … n 1: what each softmax takes back
        rows = (query, grad, lse.unsqueeze(-1), delta)
        d_query, d_key, d_value = (
            torch.zeros_like(x, dtype=lse.dtype) for x in (query, key, value)
        )
        here = [key, value, d_key, d_value]
        for _, tiles in _steps(*ctx.ring):
            for i, j, first_key in tiles:
                q, g, its_lse, its_delta = (_chunk(x, i, zigzag) for x in rows)
                k, v, d_k, d_v = (_chunk(x, j, zigzag) for x in here)
                weights = (_scores(q, k, None, first_key, None) - its_lse).exp()  # … n m
                d_scores = weights * (g @ v.to(g.dtype).mT - its_delta) * _scale(q, None)
                _chunk(d_query, i, zigzag).add_(d_scores @ k.to(g.dtype))
                # a shared head's gradient is the sum over its query heads
                d_k.add_((d_scores.mT @ q.to(g.dtype)).sum_to_size(d_k.shape))
                d_v.add_((weights.mT @ g).sum_to_size(d_v.shape))
            here, wait = _pass_on(here, group)
            wait()
        d_key, d_value = here[2:]  # once round the ring, and at home
        dtype = query.dtype
        return d_query.to(dtype), d_key.to(dtype), d_value.to(dtype), None, None, None


def _steps(
    group: dist.ProcessGroup | None, is_causal: bool, zigzag: bool
) -> Iterator[tuple[int, list[tuple[int, int, int | None]]]]:
    """Yield for each step how many are left, and its tiles: local chunks, and where masks start."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    for step, tiles in enumerate(ring_tiles(rank, ranks, is_causal=is_causal, zigzag=zigzag)):
        mine, theirs = (_chunks(r, ranks, zigzag) for r in (rank, (rank - step) % ranks))
        yield (
            ranks - 1 - step,
            [
                (mine.index(a), theirs.index(b), 0 if is_causal and a == b else None)
                for a, b in tiles
            ],
        )


def _pass_on(
    tensors: list[Tensor], group: dist.ProcessGroup | None
) -> tuple[list[Tensor], Callable[[], None]]:
    """Start to send tensors to the next rank; return what will come, and how to wait for it."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    if ranks == 1 or not tensors:
        return tensors, lambda: None
    members = dist.get_process_group_ranks(group)
    after, before = members[(rank + 1) % ranks], members[rank - 1]
    sent = [x.contiguous() for x in tensors]
    coming = [torch.empty_like(x) for x in sent]
    operations = [dist.P2POp(dist.isend, x, after, group, tag) for tag, x in enumerate(sent)]
    operations += [dist.P2POp(dist.irecv, x, before, group, tag) for tag, x in enumerate(coming)]
    requests = dist.batch_isend_irecv(operations)

    def wait() -> None:
        try:
            for request in requests:
                request.wait()
        except RuntimeError as error:
            raise RuntimeError(
                f"rank {rank} must reach ranks {after} and {before}, its neighbours; got: {error}"
            ) from error

    return coming, wait


def _chunks(rank: int, ranks: int, zigzag: bool) -> tuple[int, ...]:
    """Return which chunks of the sequence a rank holds."""
    return (rank, 2 * ranks - 1 - rank) if zigzag else (rank,)


def _chunk(x: Tensor, i: int, zigzag: bool) -> Tensor:
    """Return the i-th chunk of a rank's part."""
    return x.chunk(2, -2)[i] if zigzag else x


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """View h query heads as g groups of h/g, so that a key head broadcasts over its group."""
    groups = key.size(-3), query.size(-3) // max(key.size(-3), 1)
    if mask is not None and mask.ndim > 2:
        mask = mask.unsqueeze(-3) if mask.size(-3) == 1 else torch.unflatten(mask, -3, groups)
    return torch.unflatten(query, -3, groups), key.unsqueeze(-3), value.unsqueeze(-3), mask


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    first_key: int | None,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """Attend in float32 at least; causal if it is told the place of the first key."""
    scores = _scores(query, key, attn_mask, first_key, scale)  # … n m
    output = masked_softmax(scores) @ value.to(scores.dtype)  # … n e
    return output, _log_sum_exp(scores, -1)


def _scores(
    query: Tensor, key: Tensor, attn_mask: Tensor | None, first_key: int | None, scale: float | None
) -> Tensor:
    scores = at_least_float32(query) @ at_least_float32(key).mT * _scale(query, scale)  # … n m
    if first_key is not None:
        n, m = scores.shape[-2:]
        keys = first_key + torch.arange(m, device=query.device)
        later = keys > torch.arange(n, device=query.device).unsqueeze(-1)
        scores = scores.masked_fill(later, -INF)
    if attn_mask is None:
        return scores
    if attn_mask.dtype == torch.bool:
        return scores.masked_fill(~attn_mask, -INF)
    return scores + attn_mask


def _log_sum_exp(scores: Tensor, dim: int) -> Tensor:
    # of a row of −∞ the gradient would be NaN: such a row is set aside
    empty = (scores == -INF).all(dim)
    scores = scores.masked_fill(empty.unsqueeze(dim), 0.0)
    return scores.logsumexp(dim).masked_fill(empty, -INF)


def _scale(query: Tensor, scale: float | None) -> float:
    return 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale


def _check_parts(outputs: Sequence[Tensor], lses: Sequence[Tensor]) -> None:
    check_size("the number of outputs", len(outputs))
    if len(lses) != len(outputs):
        raise ValueError(f"lses must be as many as outputs, {len(outputs)}; got {len(lses)}")
    shape = None
    for output, lse in zip(outputs, lses, strict=True):
        check_float_tensor("each output", output, min_axes=2)
        check_float_tensor("each lse", lse, min_axes=1)
        shape = output.shape if shape is None else shape
        if output.shape != shape:
            raise ValueError(
                f"each output must have the first one's shape {tuple(shape)}; "
                f"got {tuple(output.shape)}"
            )
        if lse.shape != shape[:-1]:
            raise ValueError(
                f"each lse must have an output's shape without its last axis, "
                f"{tuple(shape[:-1])}; got {tuple(lse.shape)}"
            )


def _check_order(is_causal: bool, zigzag: bool) -> None:
    check_flag("is_causal", is_causal)
    check_flag("zigzag", zigzag)
    if zigzag and not is_causal:
        raise ValueError(
            "zigzag must be False without is_causal, since order does not matter then; got True"
        )


def _check_halves(length: int, zigzag: bool) -> None:
    if zigzag and length % 2:
        raise ValueError(f"each part must have an even length with zigzag; got {length}")


def _check_same_on_all(told: object, group: dist.ProcessGroup | None) -> None:
    """Compare what all ranks call with, because unequal messages would end in a hang."""
    found: list[object] = [None] * dist.get_world_size(group)
    try:
        dist.all_gather_object(found, told, group)
    except RuntimeError as error:
        raise RuntimeError(f"all ranks of the ring must answer; got: {error}") from error
    if any(other != told for other in found):
        raise ValueError(f"query, value and options must be alike on all ranks; got {found}")
