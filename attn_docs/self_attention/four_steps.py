"""Self-attention with one head, in steps: three projections, one, mask and dropout, output."""

import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import check_dropout, check_scale, check_sequence, check_size
from attn_docs.foundations._padding import padded_mask
from attn_docs.foundations.scaled_dot_product import scaled_dot_product_attention


class SelfAttention(nn.Module):
    r"""Step 1: project the sequence to queries, keys and values, and let it attend to itself.

    $$Q = X W_Q + b_Q \qquad K = X W_K + b_K \qquad V = X W_V + b_V$$

    $$O = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$

    Args:
        input_dim: Size of the vectors that come in.
        output_dim: Size d of queries, keys and values, and of the vectors that go out.
        scale: Factor on the scores; 1/√d if None.

    Attributes:
        q_proj: Linear layer from `input_dim` to `output_dim`, with bias.
        k_proj: The same for the keys.
        v_proj: The same for the values.

    Raises:
        TypeError: If a size is not an int, or `scale` not a number.
        ValueError: If a size is below 1, or `scale` is not finite.

    Example:
        ```python
        import torch

        from attn_docs import SelfAttention

        attend = SelfAttention(input_dim=6, output_dim=4)
        print(tuple(attend(torch.randn(2, 3, 6)).shape))
        #> (2, 3, 4)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.1, arXiv:1706.03762 (2017).
    """

    def __init__(self, input_dim: int, output_dim: int, *, scale: float | None = None) -> None:
        super().__init__()
        check_size("input_dim", input_dim)
        check_size("output_dim", output_dim)
        check_scale(scale)
        self.scale = scale
        self.q_proj = nn.Linear(input_dim, output_dim)
        self.k_proj = nn.Linear(input_dim, output_dim)
        self.v_proj = nn.Linear(input_dim, output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each vector of (batch, n, input_dim) attend to all: (batch, n, output_dim).

        Raises:
            TypeError: If `x` is not a floating-point tensor, or has another dtype than the weights.
            ValueError: If `x` has other axes.
        """
        check_sequence("x", x, "input_dim", self.q_proj.in_features, self.q_proj.weight)
        query = self.q_proj(x)  # b n d
        key = self.k_proj(x)  # b n d
        value = self.v_proj(x)  # b n d
        return scaled_dot_product_attention(query, key, value, scale=self.scale)


class FusedSelfAttention(nn.Module):
    r"""Step 2: the same numbers from one projection, three times as wide.

    $$\bigl[\, Q \;\; K \;\; V \,\bigr] = X \bigl[\, W_Q \;\; W_K \;\; W_V \,\bigr] + b$$

    Args:
        input_dim: Size of the vectors that come in.
        output_dim: Size d of queries, keys and values, and of the vectors that go out.
        scale: Factor on the scores; 1/√d if None.

    Attributes:
        qkv_proj: Linear layer from `input_dim` to 3·`output_dim`, with bias: first the queries,
            then the keys, then the values.

    Raises:
        TypeError: If a size is not an int, or `scale` not a number.
        ValueError: If a size is below 1, or `scale` is not finite.

    Example:
        ```python
        import torch

        from attn_docs import FusedSelfAttention, SelfAttention

        separate = SelfAttention(input_dim=6, output_dim=4)
        fused = FusedSelfAttention(input_dim=6, output_dim=4)
        projections = (separate.q_proj, separate.k_proj, separate.v_proj)
        with torch.no_grad():
            fused.qkv_proj.weight.copy_(torch.cat([p.weight for p in projections]))
            fused.qkv_proj.bias.copy_(torch.cat([p.bias for p in projections]))
        x = torch.randn(2, 3, 6)
        print(torch.allclose(fused(x), separate(x), atol=1e-6))
        #> True
        ```

    Reference:
        Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), whose code
        has this layer as `c_attn`.
    """

    def __init__(self, input_dim: int, output_dim: int, *, scale: float | None = None) -> None:
        super().__init__()
        check_size("input_dim", input_dim)
        check_size("output_dim", output_dim)
        check_scale(scale)
        self.scale = scale
        self.qkv_proj = nn.Linear(input_dim, 3 * output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Let each vector of (batch, n, input_dim) attend to all: (batch, n, output_dim).

        Raises:
            TypeError: If `x` is not a floating-point tensor, or has another dtype than the weights.
            ValueError: If `x` has other axes.
        """
        check_sequence("x", x, "input_dim", self.qkv_proj.in_features, self.qkv_proj.weight)
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n d, three times
        return scaled_dot_product_attention(query, key, value, scale=self.scale)


class MaskedSelfAttention(nn.Module):
    r"""Step 3: step 1 with a mask on the scores and dropout on the weights.

    $$O = \operatorname{dropout}\!\left(\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}
    + M\right)\right) V$$

    Args:
        input_dim: Size of the vectors that come in.
        output_dim: Size d of queries, keys and values, and of the vectors that go out.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the scores; 1/√d if None.

    Attributes:
        q_proj: Linear layer from `input_dim` to `output_dim`, with bias.
        k_proj: The same for the keys.
        v_proj: The same for the values.

    Raises:
        TypeError: If a size is not an int, or `dropout` or `scale` not a number.
        ValueError: If a size is below 1, or `dropout` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import MaskedSelfAttention, padding_mask

        attend = MaskedSelfAttention(input_dim=6, output_dim=4).eval()
        mask = padding_mask([3, 1])[:, None]  # batch 1 n
        print(tuple(attend(torch.randn(2, 3, 6), mask).shape))
        #> (2, 3, 4)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.1, arXiv:1706.03762 (2017), for
        the mask. The paper describes dropout on each sub-layer's output (section 5.4) and only
        names attention dropout (section 6.3); its authors' code has it on the weights.
    """

    def __init__(
        self, input_dim: int, output_dim: int, dropout: float = 0.1, *, scale: float | None = None
    ) -> None:
        super().__init__()
        check_size("input_dim", input_dim)
        check_size("output_dim", output_dim)
        check_dropout(dropout)
        check_scale(scale)
        self.scale = scale
        self.dropout = dropout
        self.q_proj = nn.Linear(input_dim, output_dim)
        self.k_proj = nn.Linear(input_dim, output_dim)
        self.v_proj = nn.Linear(input_dim, output_dim)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, *, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Let each vector of (batch, n, input_dim) attend to all: (batch, n, output_dim).

        Args:
            x: (batch, n, input_dim), in the weights' dtype.
            attn_mask: Boolean, True where a query may attend, or additive. Two axes (n, n) or
                three, each 1 or that of the scores (batch, n, n).
            key_padding_mask: Boolean (batch, n), True where the key is not padding: as Hugging
                Face's `attention_mask`, the opposite of PyTorch's argument of this name.

        Returns:
            (batch, n, output_dim); zeros for a query that may attend to nothing.

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If `x` has other axes, or the mask does not fit.
        """
        check_sequence("x", x, "input_dim", self.q_proj.in_features, self.q_proj.weight)
        query = self.q_proj(x)  # b n d
        key = self.k_proj(x)  # b n d
        value = self.v_proj(x)  # b n d
        scores_shape = (x.size(0), x.size(1), x.size(1))
        mask = padded_mask(attn_mask, key_padding_mask, scores_shape, query)
        dropout_p = self.dropout if self.training else 0.0
        return scaled_dot_product_attention(query, key, value, mask, dropout_p, scale=self.scale)


class ScaledDotProductSelfAttention(nn.Module):
    r"""All of it with one head: fused projection, mask, dropout on the weights, output projection.

    $$Y = \operatorname{dropout}\!\left(\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}
    + M\right)\right) V \, W_O + b_O$$

    The scale is one over the root of the head's size. Only because there is one head is that
    `embed_dim`.

    Args:
        embed_dim: Size d of the vectors that come in and go out.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the scores; 1/√d if None.

    Attributes:
        qkv_proj: Linear layer from d to 3·d, with bias: queries, keys, values.
        out_proj: Linear layer from d to d, with bias. Together 4·d² + 4·d parameters.

    Raises:
        TypeError: If `embed_dim` is not an int, or `dropout` or `scale` not a number.
        ValueError: If `embed_dim` is below 1, or `dropout` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import ScaledDotProductSelfAttention, causal_mask

        attend = ScaledDotProductSelfAttention(embed_dim=8).eval()
        print(tuple(attend(torch.randn(2, 3, 8), causal_mask(3)).shape))
        #> (2, 3, 8)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2, arXiv:1706.03762 (2017).
    """

    def __init__(self, embed_dim: int, dropout: float = 0.1, *, scale: float | None = None) -> None:
        super().__init__()
        check_size("embed_dim", embed_dim)
        check_dropout(dropout)
        check_scale(scale)
        self.scale = scale
        self.dropout = dropout
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, *, key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """Let each vector of (batch, n, embed_dim) attend to all: the same shape.

        Args:
            x: (batch, n, embed_dim), in the weights' dtype.
            attn_mask: Boolean, True where a query may attend, or additive. Two axes (n, n) or
                three, each 1 or that of the scores (batch, n, n).
            key_padding_mask: Boolean (batch, n), True where the key is not padding: as Hugging
                Face's `attention_mask`, the opposite of PyTorch's argument of this name.

        Returns:
            (batch, n, embed_dim). A query that may attend to nothing gets the bias of `out_proj`.

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If `x` has other axes, or the mask does not fit.
        """
        check_sequence("x", x, "embed_dim", self.out_proj.in_features, self.qkv_proj.weight)
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)  # b n d, three times
        batch, length, _ = x.shape
        mask = padded_mask(attn_mask, key_padding_mask, (batch, length, length), query)
        dropout_p = self.dropout if self.training else 0.0
        if mask is not None and mask.ndim == 3:
            mask = mask[:, None]  # b 1 n n
        # an axis for the one head: PyTorch has its fast kernels for four axes
        query, key, value = (part[:, None] for part in (query, key, value))  # b 1 n d
        mixed = F.scaled_dot_product_attention(query, key, value, mask, dropout_p, scale=self.scale)
        output: Tensor = self.out_proj(mixed[:, 0])  # b n d
        return output
