"""Bilinear attention: a learned matrix says which component of a query goes with which of a key."""

import math

import torch
from torch import Tensor, nn

from attn_docs._checks import check_last_size, check_size
from attn_docs.foundations.scoring_functions import ScoreAttention


class BilinearAttention(ScoreAttention):
    r"""Attention with a matrix between query and key, which may differ in size.

    $$s(q, k) = \frac{q^\top W k}{(d_q d_k)^{1/4}}$$

    The call is `ScoreAttention`'s: query (batch, n, q), key (batch, m, k), value (batch, m, e).
    The divisor is this project's. It makes scores of variance one because `weight` starts with the
    standard deviation (d_q d_k)^(−1/4), and W = I the scaled dot product. Drawing `weight` with
    1/√(d_q d_k), without a divisor, starts the same scores.
    The product is taken as (QW)Kᵀ; if n = m, Q(WKᵀ) takes fewer operations for larger keys.

    Args:
        query_dim: Size q of a query, d_q in the formula.
        key_dim: Size k of a key, d_k in the formula.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.

    Attributes:
        weight: The matrix W, (query_dim, key_dim).

    Raises:
        TypeError: If a size is not an int, or `dropout` is not a number.
        ValueError: If one is out of range; in the call, if a query or key has another size.

    Example:
        ```python
        import torch

        from attn_docs import BilinearAttention

        attend = BilinearAttention(query_dim=4, key_dim=6)
        query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.randn(2, 5, 7)
        print(tuple(attend(query, key, value).shape))
        #> (2, 3, 7)
        ```

    Reference:
        Luong et al., "Effective Approaches to Attention-based Neural Machine Translation",
        section 3.1, the score "general", arXiv:1508.04025 (2015); it has no divisor.
    """

    def __init__(self, query_dim: int, key_dim: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        check_size("query_dim", query_dim)
        check_size("key_dim", key_dim)
        self.weight = nn.Parameter(torch.empty(query_dim, key_dim))
        self.divisor = math.sqrt(math.sqrt(query_dim * key_dim))
        nn.init.normal_(self.weight, std=1 / self.divisor)

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        """Return qᵀWk over the divisor for every pair, (batch, n, m)."""
        check_last_size("query", query, "query_dim", self.weight.size(0))
        check_last_size("key", key, "key_dim", self.weight.size(1))
        return query @ self.weight @ key.mT / self.divisor  # b n k, then b n m
