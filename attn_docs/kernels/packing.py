"""Documents packed into one row: ids, positions, the mask, and attention by document."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attn_docs._checks import INT_DTYPES, check_flag, check_lengths, check_query_key, check_value
from attn_docs.foundations.scaled_dot_product import scaled_dot_product_attention


def cu_seqlens(lengths: Tensor | Sequence[int]) -> Tensor:
    r"""Return where each document starts, and last where the row ends: cumulative lengths.

    $$c_0 = 0 \qquad c_{k+1} = c_k + \ell_k$$

    Variable-length kernels, such as FlashAttention's, take this tensor under this name.

    Args:
        lengths: How many tokens each document of the row has, 0 or more; integers (documents,).

    Returns:
        Int32, shape (documents + 1,), on `lengths`' device.

    Raises:
        TypeError: If `lengths` does not hold integers.
        ValueError: If `lengths` has not one axis, or a length is negative.

    Example:
        ```python
        from attn_docs import cu_seqlens

        print(cu_seqlens([3, 2]))
        #> tensor([0, 3, 5], dtype=torch.int32)
        ```

    Reference:
        Dao et al., "FlashAttention", arXiv:2205.14135 (2022); `flash_attn_varlen_func` in its code.
    """
    lengths, _ = check_lengths(lengths, None)
    start = lengths.new_zeros(1, dtype=torch.int32)
    return torch.cat((start, lengths.cumsum(0, dtype=torch.int32)))


def document_ids(lengths: Tensor | Sequence[int]) -> Tensor:
    r"""Return for each token of the row the number of its document, counted from 0.

    $$\delta_i = k \quad\text{where}\quad c_k \le i < c_{k+1}$$

    Args:
        lengths: How many tokens each document of the row has, 0 or more; integers (documents,).

    Returns:
        Int64, shape (n,), where n is the sum of `lengths`, on `lengths`' device.

    Raises:
        TypeError: If `lengths` does not hold integers.
        ValueError: If `lengths` has not one axis, or a length is negative.

    Example:
        ```python
        from attn_docs import document_ids

        print(document_ids([3, 2]))
        #> tensor([0, 0, 0, 1, 1])
        ```
    """
    lengths, _ = check_lengths(lengths, None)
    return torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)


def document_positions(lengths: Tensor | Sequence[int]) -> Tensor:
    r"""Return for each token its position in its own document: 0 at the start of each.

    $$p_i = i - c_{\delta_i}$$

    Positions say where a token stands, and not what it may attend to: the mask is
    `document_mask`'s.

    Args:
        lengths: How many tokens each document of the row has, 0 or more; integers (documents,).

    Returns:
        Int64, shape (n,), where n is the sum of `lengths`, on `lengths`' device.

    Raises:
        TypeError: If `lengths` does not hold integers.
        ValueError: If `lengths` has not one axis, or a length is negative.

    Example:
        ```python
        from attn_docs import document_positions

        print(document_positions([3, 2]))
        #> tensor([0, 1, 2, 0, 1])
        ```
    """
    ids = document_ids(lengths)
    return torch.arange(len(ids), device=ids.device) - cu_seqlens(lengths)[ids]


def document_mask(ids: Tensor) -> Tensor:
    r"""Return the mask that lets tokens of one document see each other, and nobody else.

    $$\text{mask}_{ij} = [\, \delta_i = \delta_j \,]$$

    Equal ids mean one document, wherever they stand in the row. For a decoder combine it with
    `causal_mask` by `&`. Padding at the end of a row can have an id of its own, such as -1: its
    queries then see the padding, so that no row is empty.

    Args:
        ids: Integers, shape (n,), or (batch, n) where the rows of a batch are packed differently.

    Returns:
        Boolean, shape (n, n) or (batch, n, n), True where the query may attend. For scores with
        heads write `mask[:, None]`.

    Raises:
        TypeError: If `ids` is not a tensor of integers.
        ValueError: If `ids` has not one or two axes.

    Example:
        ```python
        import torch

        from attn_docs import causal_mask, document_mask

        print((document_mask(torch.tensor([0, 0, 0, 1, 1])) & causal_mask(5)).int())
        #> tensor([[1, 0, 0, 0, 0],
        #>         [1, 1, 0, 0, 0],
        #>         [1, 1, 1, 0, 0],
        #>         [0, 0, 0, 1, 0],
        #>         [0, 0, 0, 1, 1]], dtype=torch.int32)
        ```

    Reference:
        Krell et al., "Efficient Sequence Packing without Cross-contamination", arXiv:2107.02027
        (2021).
    """
    if not isinstance(ids, Tensor):
        raise TypeError(f"ids must be a torch.Tensor; got {type(ids).__name__}")
    if ids.dtype not in INT_DTYPES:
        raise TypeError(f"ids must hold integers; got {ids.dtype}")
    if ids.ndim not in (1, 2):
        raise ValueError(f"ids must have shape (n,) or (batch, n); got {tuple(ids.shape)}")
    return ids.unsqueeze(-1) == ids.unsqueeze(-2)  # n n, or b n n


def packed_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor | Sequence[int],
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend within each document of a row, one document after the other.

    $$O_{c_k : c_{k+1}} = \operatorname{Attention}(Q_{c_k : c_{k+1}},\; K_{c_k : c_{k+1}},\;
    V_{c_k : c_{k+1}})$$

    The result is that of the whole row with `document_mask`, but only the scores inside the
    documents are computed. It is what a variable-length kernel returns, by a loop in Python.

    Args:
        query: (..., n, d), all documents one after the other.
        key: (..., n, d), cut like the queries.
        value: (..., n, e).
        lengths: How many tokens each document has; their sum must be n.
        is_causal: If True, each query sees the keys of its document up to its own position.
        scale: What scores are multiplied by; 1/√d if None.
        enable_gqa: If True, axis -3 is one of heads, and key and value may have fewer.

    Returns:
        (..., n, e), in the dtype of `query`.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `lengths` is empty or does not sum to n.

    Example:
        ```python
        import torch

        from attn_docs import document_ids, document_mask, packed_attention
        from attn_docs import scaled_dot_product_attention

        query, key, value = torch.randn(3, 2, 5, 4)
        packed = packed_attention(query, key, value, [3, 2])
        mask = document_mask(document_ids([3, 2]))
        print(torch.allclose(packed, scaled_dot_product_attention(query, key, value, mask)))
        #> True
        ```

    Reference:
        Dao et al., "FlashAttention", arXiv:2205.14135 (2022); `flash_attn_varlen_func` in its code.
    """
    check_flag("is_causal", is_causal)
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    lengths, _ = check_lengths(lengths, None)
    sizes: list[int] = lengths.tolist()
    if not sizes:
        raise ValueError("lengths must have one document or more; got none")
    for name, size in (("query", shape[-2]), ("key", shape[-1])):
        if sum(sizes) != size:
            raise ValueError(f"lengths must sum to {name}'s length {size}; got {sum(sizes)}")
    parts = [
        scaled_dot_product_attention(
            q, k, v, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )
        for q, k, v in zip(
            *(torch.split(x, sizes, dim=-2) for x in (query, key, value)), strict=True
        )
    ]
    return torch.cat(parts, dim=-2)
