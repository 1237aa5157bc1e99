"""Grouped-query attention: each group of query heads shares one KV head."""

import math
from typing import Unpack

import torch
from torch import Tensor

from attn_docs._checks import check_axes, check_call, check_int
from attn_docs._dtypes import at_least_float32
from attn_docs.foundations.masks import causal_mask
from attn_docs.foundations.scaled_dot_product import (
    masked_softmax,
    scaled_dot_product_attention,
)
from attn_docs.heads._options import Options
from attn_docs.heads.multi_head import MultiHeadAttention


def grouped_query_attention_repeat(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = True,
) -> Tensor:
    r"""Attend with shared KV heads, each repeated for every query head of its group.

    $$\operatorname{head}_i = \operatorname{Attention}\bigl(Q_i, K_{\lfloor i g / h \rfloor},
    V_{\lfloor i g / h \rfloor}\bigr)$$

    The repeated keys and values are written to memory, h/g times as large as those that come in.
    `grouped_query_attention_broadcast` gives the same result without them.

    Args:
        query: (batch, h, n, d); float16, bfloat16, float32 or float64.
        key: (batch, g, m, d), where g divides h. Same dtype.
        value: (batch, g, m, e). Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive; (n, m) or
            (batch, h, n, m), each axis 1 or in full.
        dropout_p: Probability, from 0 to 1, that a weight is dropped. Always applied.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If False, g must equal h, as in PyTorch's function.

    Returns:
        (batch, h, n, e) in the query's dtype; zeros for a query that may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `dropout_p` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import grouped_query_attention_repeat

        query = torch.randn(2, 6, 5, 4)  # 6 query heads
        key, value = torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)  # 3 KV heads
        print(tuple(grouped_query_attention_repeat(query, key, value).shape))
        #> (2, 6, 5, 4)
        ```

    Reference:
        Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
        Checkpoints", arXiv:2305.13245 (2023).
    """
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    check_axes("query", query, "batch", "heads", "length", "head_dim")
    group = query.size(1) // key.size(1)
    key = key.repeat_interleave(group, dim=1)  # b h m d
    value = value.repeat_interleave(group, dim=1)  # b h m e
    return scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale
    )


def grouped_query_attention_broadcast(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = True,
) -> Tensor:
    r"""Attend with shared KV heads: the queries get one more axis, and no key is repeated.

    $$S_{j,r} = Q_{j,r} K_j^\top \big/ \sqrt{d}$$

    Here j is a KV head and r counts the h/g query heads that read it: query head j·h/g + r. The
    result is that of `grouped_query_attention_repeat`, without a repeated key or value in memory.
    Arguments and their shapes, the result and the errors are described there.

    Example:
        ```python
        import torch

        from attn_docs import grouped_query_attention_broadcast

        query = torch.randn(2, 6, 5, 4)  # 6 query heads
        key, value = torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)  # 3 KV heads
        print(tuple(grouped_query_attention_broadcast(query, key, value).shape))
        #> (2, 6, 5, 4)
        ```

    Reference:
        Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
        Checkpoints", arXiv:2305.13245 (2023).
    """
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    check_axes("query", query, "batch", "heads", "length", "head_dim")
    dtype, groups = query.dtype, key.size(1)
    query, key, value = (at_least_float32(x) for x in (query, key, value))
    query = _split_groups(query, groups)  # b g r n d
    if scale is None:
        scale = 1 / math.sqrt(max(query.size(-1), 1))
    scores = torch.einsum("bgrnd,bgmd->bgrnm", query * scale, key)
    if is_causal:
        allowed = causal_mask(scores.size(-2), scores.size(-1), device=scores.device)
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = masked_softmax(scores, _group_mask(attn_mask, groups, scores.dtype))  # b g r n m
    weights = torch.dropout(weights, dropout_p, train=True)
    return torch.einsum("bgrnm,bgme->bgrne", weights, value).flatten(1, 2).to(dtype)  # b h n e


class GroupedQueryAttention(MultiHeadAttention):
    r"""Multi-head attention whose query heads share KV heads in groups.

    $$\operatorname{head}_i = \operatorname{Attention}\bigl(X W^Q_i, C W^K_{\lfloor i g/h \rfloor},
    C W^V_{\lfloor i g/h \rfloor}\bigr)$$

    The call is that of `MultiHeadAttention`. With g = h it is multi-head attention, with g = 1
    multi-query attention. Keys and values are (batch, g, length, head_dim), and a cache holds them
    like that. Whether PyTorch's function repeats them in memory depends on the kernel that runs.
    In PyTorch 2.13 it does on a CPU with dropout or a mask that learns; on CUDA in float32, for
    heads above 256 and for most masks. With `attend=grouped_query_attention_broadcast` they are
    never repeated.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of query heads h.
        num_kv_heads: Number of KV heads g; divides `num_heads`.
        **options: What else `MultiHeadAttention` takes by name: `kv_dim`, `head_dim`, `bias`,
            `qkv_bias`, `out_bias`, `dropout`, `scale`, `window`, `keep_first`, `attend`, `rotary`,
            `q_norm`, `k_norm`, `v_norm` and `gate`.

    Attributes:
        q_proj: Linear layer from `embed_dim` to h·head_dim.
        k_proj: Linear layer from `kv_dim` to g·head_dim.
        v_proj: Linear layer from `kv_dim` to g·head_dim.
        out_proj: Linear layer from h·head_dim to `embed_dim`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_kv_heads` does not divide `num_heads`, `num_heads`
            does not divide `embed_dim` and `head_dim` is None, or `dropout` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import GroupedQueryAttention

        attend = GroupedQueryAttention(embed_dim=24, num_heads=6, num_kv_heads=2)
        print(tuple(attend(torch.randn(2, 5, 24)).shape), attend.k_proj.out_features)
        #> (2, 5, 24) 8
        ```

    Reference:
        Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
        Checkpoints", arXiv:2305.13245 (2023).
    """

    def __init__(
        self, embed_dim: int, num_heads: int, num_kv_heads: int, **options: Unpack[Options]
    ) -> None:
        super().__init__(embed_dim, num_heads, num_kv_heads=num_kv_heads, **options)
        check_int("num_kv_heads", num_kv_heads)  # None would mean num_heads


def _group_mask(mask: Tensor | None, groups: int, dtype: torch.dtype) -> Tensor | None:
    """Split the axis of heads of a mask in two, as that of the queries is."""
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        mask = mask.to(dtype)
    if mask.ndim == 2:
        return mask
    if mask.size(-3) == 1:
        return mask.unsqueeze(-3)  # (b) 1 1 n m
    return _split_groups(mask, groups)  # (b) g r n m


def _split_groups(x: Tensor, groups: int) -> Tensor:
    *leading, heads, rows, columns = x.shape
    return x.view(*leading, groups, heads // groups, rows, columns)
