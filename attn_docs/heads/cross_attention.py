"""Cross-attention: queries from one sequence, keys and values from another."""

from torch import Tensor, nn

from attn_docs._checks import (
    check_context,
    check_dropout,
    check_scale,
    check_sequence,
    check_size,
)
from attn_docs.foundations._padding import padded_mask
from attn_docs.foundations.scaled_dot_product import scaled_dot_product_attention


class CrossAttention(nn.Module):
    r"""One head whose queries come from one sequence and whose keys and values from another.

    $$Q = X W_Q + b_Q \qquad K = C W_K + b_K \qquad V = C W_V + b_V$$

    $$O = \operatorname{dropout}\!\left(\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}
    + M\right)\right) V$$

    With several heads it is `MultiHeadAttention` called with a `context`, whose keys and values
    `MultiHeadAttention.cache_context` computes once for many calls.

    Args:
        input_dim: Size of the vectors whose queries are made, the target's.
        context_dim: Size of the vectors whose keys and values are made, the context's.
        output_dim: Size d of queries, keys and values, and of the output's vectors.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the scores; 1/√d if None.

    Attributes:
        q_proj: Linear layer from `input_dim` to `output_dim`, with bias.
        k_proj: Linear layer from `context_dim` to `output_dim`, with bias.
        v_proj: Linear layer from `context_dim` to `output_dim`, with bias.

    Raises:
        TypeError: If a size is not an int, or `dropout` or `scale` not a number.
        ValueError: If a size is below 1, or `dropout` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import CrossAttention, padding_mask

        attend = CrossAttention(input_dim=6, context_dim=8, output_dim=4)
        x, context = torch.randn(2, 3, 6), torch.randn(2, 5, 8)
        mask = padding_mask([5, 2])[:, None]  # batch 1 m: the context's padding
        print(tuple(attend(x, context, mask).shape))
        #> (2, 3, 4)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """

    def __init__(
        self,
        input_dim: int,
        context_dim: int,
        output_dim: int,
        dropout: float = 0.0,
        *,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        check_size("input_dim", input_dim)
        check_size("context_dim", context_dim)
        check_size("output_dim", output_dim)
        check_dropout(dropout)
        check_scale(scale)
        self.scale = scale
        self.dropout = dropout
        self.q_proj = nn.Linear(input_dim, output_dim)
        self.k_proj = nn.Linear(context_dim, output_dim)
        self.v_proj = nn.Linear(context_dim, output_dim)

    def forward(
        self,
        x: Tensor,
        context: Tensor,
        attn_mask: Tensor | None = None,
        *,
        key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Let each vector of `x` attend to the vectors of `context`.

        Args:
            x: (batch, n, input_dim), in the weights' dtype.
            context: (batch, m, context_dim), same dtype.
            attn_mask: Boolean, True where a query may attend, or additive. Two axes (n, m) or
                three, each 1 or that of the scores (batch, n, m).
            key_padding_mask: Boolean (batch, m), True where the key is not padding: as Hugging
                Face's `attention_mask`, the opposite of PyTorch's argument of this name.

        Returns:
            (batch, n, output_dim); zeros for a query that may attend to nothing.

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If shapes do not fit.
        """
        check_sequence("x", x, "input_dim", self.q_proj.in_features, self.q_proj.weight)
        context_dim = self.k_proj.in_features
        shape = check_context(x, context, "context_dim", context_dim, self.k_proj.weight)
        query = self.q_proj(x)  # b n d
        key = self.k_proj(context)  # b m d
        value = self.v_proj(context)  # b m d
        dropout_p = self.dropout if self.training else 0.0
        mask = padded_mask(attn_mask, key_padding_mask, shape, query)
        return scaled_dot_product_attention(query, key, value, mask, dropout_p, scale=self.scale)
