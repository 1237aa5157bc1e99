"""Multi-query attention: every query head asks the same keys and values."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.position.rotary import RotaryEmbedding


class MultiQueryAttention(MultiHeadAttention):
    r"""Multi-head attention whose query heads share one key head and one value head.

    $$\operatorname{head}_i = \operatorname{Attention}(X W^Q_i, C W^K, C W^V)$$

    The call is `MultiHeadAttention`'s. Keys and values are (batch, 1, length, head_dim) and are
    never repeated in memory while `attend` is PyTorch's function and drops nothing.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of query heads h.
        kv_dim: Size of the vectors attended to; `embed_dim` if None.
        head_dim: Size of a head; `embed_dim / num_heads` if None.
        bias: Whether the four projections add a bias.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        attend: The attention function, called as PyTorch's, with `enable_gqa=True`.
        rotary: Turns queries and keys by their positions; none are used if None.

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

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        kv_dim: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        attend: Callable[..., Tensor] = F.scaled_dot_product_attention,
        rotary: RotaryEmbedding | None = None,
    ) -> None:
        super().__init__(
            embed_dim,
            num_heads,
            kv_dim=kv_dim,
            head_dim=head_dim,
            bias=bias,
            dropout=dropout,
            attend=attend,
            rotary=rotary,
        )
        self.num_kv_heads = 1
        self.k_proj = nn.Linear(self.k_proj.in_features, self.head_dim, bias=bias)
        self.v_proj = nn.Linear(self.v_proj.in_features, self.head_dim, bias=bias)
