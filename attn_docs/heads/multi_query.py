"""Multi-query attention: all query heads share one KV head."""

from typing import Unpack

from attn_docs.heads._options import Options
from attn_docs.heads.multi_head import MultiHeadAttention


class MultiQueryAttention(MultiHeadAttention):
    r"""Multi-head attention whose query heads share one KV head.

    $$\operatorname{head}_i = \operatorname{Attention}(X W^Q_i, C W^K, C W^V)$$

    It is `GroupedQueryAttention` with one group, and the call is that of `MultiHeadAttention`. Keys
    and values are (batch, 1, length, head_dim), and a cache holds them like that. Whether they are
    repeated in memory depends on the kernel that runs, as for `GroupedQueryAttention`.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of query heads h.
        **options: What else `MultiHeadAttention` takes by name: `kv_dim`, `head_dim`, `bias`,
            `qkv_bias`, `out_bias`, `dropout`, `scale`, `window`, `keep_first`, `attend`, `rotary`,
            `q_norm`, `k_norm`, `v_norm` and `gate`.

    Attributes:
        q_proj: Linear layer from `embed_dim` to h·head_dim.
        k_proj: Linear layer from `kv_dim` to head_dim: one head.
        v_proj: Linear layer from `kv_dim` to head_dim: one head.
        out_proj: Linear layer from h·head_dim to `embed_dim`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_heads` does not divide `embed_dim` and `head_dim`
            is None, or `dropout` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import MultiQueryAttention

        attend = MultiQueryAttention(embed_dim=12, num_heads=3)
        print(tuple(attend(torch.randn(2, 5, 12)).shape), attend.k_proj.out_features)
        #> (2, 5, 12) 4
        ```

    Reference:
        Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", arXiv:1911.02150
        (2019).
    """

    def __init__(self, embed_dim: int, num_heads: int, **options: Unpack[Options]) -> None:
        super().__init__(embed_dim, num_heads, num_kv_heads=1, **options)
