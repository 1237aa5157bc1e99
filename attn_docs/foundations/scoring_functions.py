"""Attention with any score: a new score is one method."""

import math

from torch import Tensor, nn

from attn_docs._checks import (
    check_dropout,
    check_flag,
    check_last_size,
    check_positive,
    check_scale,
    check_scores,
    check_sequences,
)
from attn_docs._dtypes import at_least_float32
from attn_docs.foundations._padding import padded_mask
from attn_docs.foundations.scaled_dot_product import _masked_softmax


class ScoreAttention(nn.Module):
    r"""Base class: score, masked softmax, dropout on the weights, weighted mean of the values.

    $$o_i = \sum_{j=1}^{m} \operatorname{softmax}_j\bigl(s(q_i, k_j)\bigr)\, v_j$$

    A subclass has one method, `score`, the function s for all pairs at once. There is no axis for
    heads: fold them into the batch. Softmax and mean are
    computed in float32 at least, the result has the query's dtype.

    Args:
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.

    Raises:
        TypeError: If `dropout` is not a number.
        ValueError: If `dropout` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import ScoreAttention

        class NegativeDistance(ScoreAttention):
            def score(self, query, key):
                return -(query.unsqueeze(-2) - key.unsqueeze(-3)).norm(dim=-1)

        query, pairs = torch.zeros(1, 1, 2), torch.tensor([[[0.0, 0.0], [3.0, 4.0]]])
        print(NegativeDistance()(query, pairs, pairs, need_weights=True)[1])
        #> tensor([[[0.9933, 0.0067]]])
        ```

    Reference:
        Luong et al., "Effective Approaches to Attention-based Neural Machine Translation",
        arXiv:1508.04025 (2015).
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the scores (batch, n, m) of queries (batch, n, q) and keys (batch, m, k).

        The result may have any floating-point dtype; float32 spares half precision a rounding.
        """
        raise NotImplementedError(f"{type(self).__name__} must define score(query, key)")

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Mix the values by the score.

        Args:
            query: (batch, n, q); float16, bfloat16, float32 or float64.
            key: (batch, m, k), same dtype.
            value: (batch, m, e), same dtype.
            attn_mask: Boolean, True where a query may attend, or additive. Two axes (n, m) or
                three, each 1 or that of the scores (batch, n, m).
            key_padding_mask: Boolean (batch, m), True where the key is not padding: as Hugging
                Face's `attention_mask`, the opposite of PyTorch's argument of this name.
            need_weights: If True, the weights are returned as well.

        Returns:
            The output (batch, n, e); with `need_weights` also the weights (batch, n, m) that made
            it, after dropout. A query that may attend to nothing gets zeros.

        Raises:
            TypeError: If an argument, or what `score` returns, has the wrong type or dtype.
            ValueError: If shapes do not fit, or `score` returns another shape than (batch, n, m).
        """
        shape = check_sequences(query, key, value)
        attn_mask = padded_mask(attn_mask, key_padding_mask, shape, query)
        check_flag("need_weights", need_weights)
        scores = self.score(query, key)  # b n m
        check_scores(f"{type(self).__name__}.score", scores, shape)
        scores, value = at_least_float32(scores), at_least_float32(value)
        weights = self.dropout(_masked_softmax(scores, attn_mask, -1))  # b n m
        output = (weights.to(value.dtype) @ value).to(query.dtype)  # b n e
        return (output, weights.to(query.dtype)) if need_weights else output


class DotProductAttention(ScoreAttention):
    r"""Attention with the scaled dot product as its score; it has no parameters.

    $$s(q, k) = \frac{q^\top k}{\sqrt{d}}$$

    Args:
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the dot products; 1/√d if None.

    Raises:
        TypeError: If `dropout` or `scale` is not a number.
        ValueError: If one is out of range; in the call, if keys and queries differ in size.

    Example:
        ```python
        import torch

        from attn_docs import DotProductAttention

        query = torch.tensor([[[0.0, 1.0, 1.0]]])
        key = torch.eye(3).unsqueeze(0)
        print(DotProductAttention()(query, key, key))
        #> tensor([[[0.2192, 0.3904, 0.3904]]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", equation 1, arXiv:1706.03762 (2017).
    """

    def __init__(self, dropout: float = 0.0, *, scale: float | None = None) -> None:
        super().__init__(dropout)
        check_scale(scale)
        self.scale = scale

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        """Return every dot product over √d, or times the scale, (batch, n, m)."""
        check_last_size("key", key, "query's size", query.size(-1))
        # without features every score is 0 anyway
        scale = 1 / math.sqrt(max(query.size(-1), 1)) if self.scale is None else self.scale
        return at_least_float32(query) @ at_least_float32(key).mT * scale


class GaussianAttention(ScoreAttention):
    r"""Attention whose score falls with the squared distance: kernel regression in d dimensions.

    $$s(q, k) = -\frac{\lVert q - k \rVert^2}{2 \sigma^2}$$

    Args:
        width: Standard deviation of the Gaussian, in the units of queries and keys; above 0.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.

    Raises:
        TypeError: If `width` or `dropout` is not a number.
        ValueError: If one is out of range; in the call, if keys and queries differ in size.

    Example:
        ```python
        import torch

        from attn_docs import GaussianAttention

        query, key = torch.tensor([[[0.0]]]), torch.tensor([[[0.0], [1.0]]])
        print(GaussianAttention(width=1.0)(query, key, key))
        #> tensor([[[0.3775]]])
        ```

    Reference:
        Nadaraya, "On Estimating Regression", Theory of Probability & Its Applications 9 (1964);
        Watson, "Smooth Regression Analysis", Sankhyā A 26 (1964).
    """

    def __init__(self, width: float = 1.0, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        check_positive("width", width)
        self.width = width

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        """Return minus every squared distance over 2·width², (batch, n, m)."""
        check_last_size("key", key, "query's size", query.size(-1))
        query, key = at_least_float32(query), at_least_float32(key)
        differences = (query.unsqueeze(-2) - key.unsqueeze(-3)) / self.width  # b n m d
        return -differences.square().sum(-1) / 2
