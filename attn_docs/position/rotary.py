"""Rotary position embedding (RoPE): rotate queries and keys by their positions."""

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    check_axes,
    check_divides,
    check_flag,
    check_float_tensor,
    check_last_size,
    check_positions,
    check_positive,
    check_rotary_dim,
    check_size,
)
from attn_docs._renamed import renamed
from attn_docs.position._frequencies import RotaryScaling, check_scaling, frequencies


def apply_rotary(
    x: Tensor,
    positions: Tensor,
    *,
    theta: float = 10000.0,
    scaling: RotaryScaling | None = None,
    rotary_dim: int | None = None,
    interleaved: bool = False,
) -> Tensor:
    r"""Rotate each pair of a vector's dimensions by an angle that grows with its position.

    $$\begin{pmatrix} a_i' \\ b_i' \end{pmatrix} =
    \begin{pmatrix} \cos p\,\omega_i & -\sin p\,\omega_i \\
    \sin p\,\omega_i & \cos p\,\omega_i \end{pmatrix}
    \begin{pmatrix} a_i \\ b_i \end{pmatrix} \qquad \omega_i = \theta^{-2i/D}$$

    D is `rotary_dim` and i counts the pairs from 0. Pair i consists of dimensions 2i and 2i + 1
    if `interleaved`, otherwise of i and i + D/2. Angles are in radians; they are computed in
    float32, and in float64 for float64 inputs. Models that were extended to longer texts, such as
    Llama 3.1, have other frequencies ω: `scaling` is the rule that makes them.

    Args:
        x: Queries or keys, (batch, heads, length, head_dim); float16, bfloat16, float32, float64.
        positions: Integers, 0 or more; (length,), or (batch, length) where rows differ.
        theta: Base θ of the angles, above 0.
        scaling: Rule that rescales the frequencies, such as `Llama3Scaling`; none if None.
        rotary_dim: Number of dimensions of each head that are rotated, from the first on; even;
            all if None.
        interleaved: If True, neighbours form a pair; if False, one dimension of each half.

    Returns:
        The shape and dtype of `x`; dimensions from `rotary_dim` on are unchanged.

    Raises:
        TypeError: If an argument has the wrong type or dtype, or `scaling` is not a rule.
        ValueError: If shapes do not fit, `rotary_dim` is odd or larger than a head, a position is
            negative or above 2²⁴, or `theta` is out of range, also of the rule.

    Example:
        ```python
        import math

        import torch

        from attn_docs import apply_rotary

        x = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2)  # the same vector at three positions
        rotated = apply_rotary(x, torch.arange(3))
        print([round(math.degrees(math.atan2(b, a)), 1) for a, b in rotated[0, 0].tolist()])
        #> [0.0, 57.3, 114.6]
        ```

    Reference:
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
        arXiv:2104.09864 (2021).
    """
    check_axes("x", x, "batch", "heads", "length", "head_dim")
    rotary_dim = check_rotary_dim(rotary_dim, x.size(-1))
    check_positive("theta", theta)
    check_scaling(scaling, rotary_dim, theta)
    check_flag("interleaved", interleaved)
    check_positions(positions, x.size(0), x.size(2))
    cos, sin = _cos_sin(x, positions, theta, scaling, rotary_dim)
    return _rotate(x, cos, sin, interleaved)


def _cos_sin(
    x: Tensor, positions: Tensor, theta: float, scaling: RotaryScaling | None, rotary_dim: int
) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of each pair's angle at each position: (n, D/2) or (b, 1, n, D/2)."""
    dtype, positions = torch.promote_types(x.dtype, torch.float32), positions.to(x.device)
    length = None
    if scaling is not None and scaling.grows and positions.numel():
        length = positions.amax().to(dtype) + 1  # a tensor: nothing is read from the device
    omega = frequencies(rotary_dim, theta, scaling, length, dtype=dtype, device=x.device)
    angles = positions.unsqueeze(-1) * omega  # n D/2
    if angles.ndim == 3:
        angles = angles.unsqueeze(1)  # b 1 n D/2
    factor = 1.0 if scaling is None else scaling.attention
    if factor == 1.0:
        return angles.cos(), angles.sin()
    return angles.cos() * factor, angles.sin() * factor


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Rotate the pairs that there are cosines for; leave the rest."""
    rotary_dim = 2 * cos.size(-1)
    rotated, rest = x[..., :rotary_dim], x[..., rotary_dim:]
    if interleaved:
        a, b = rotated[..., 0::2], rotated[..., 1::2]
        rotated = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    else:
        a, b = rotated.chunk(2, dim=-1)
        rotated = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    rotated = rotated.to(x.dtype)
    return torch.cat((rotated, rest), dim=-1) if rest.size(-1) else rotated


class RotaryEmbedding(nn.Module):
    r"""Rotary position embedding for the queries and keys of an attention module.

    $$\langle R_p\, q,\; R_s\, k \rangle = \langle R_{p-s}\, q,\; k \rangle$$

    R is the rotation of `apply_rotary`, so the score of a query at p and a key at s depends on
    p − s only. There are no parameters and no table: any position up to 2²⁴ will do.

    With `DynamicScaling` the frequencies are those of the largest position of a call, over all its
    rows, so attention layers refuse it together with a cache.

    Args:
        head_dim: Size of a head.
        theta: Base θ of the angles, above 0.
        scaling: Rule that rescales the frequencies, such as `Llama3Scaling`; none if None.
        rotary_dim: Number of dimensions of each head that are rotated, from the first on; even;
            all if None.
        interleaved: If True, neighbours form a pair (2i, 2i + 1), as in the paper and DeepSeek's
            code; if False, one dimension of each half (i, i + D/2), as in Hugging Face's Llama.

    Raises:
        TypeError: If an argument has the wrong type, or `scaling` is not a rule.
        ValueError: If `head_dim` is below 1, `rotary_dim` is odd or larger than `head_dim`, or
            `theta` is out of range, also of the rule.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention, RotaryEmbedding

        attend = MultiHeadAttention(embed_dim=12, num_heads=3, rotary=RotaryEmbedding(4))
        print(tuple(attend(torch.randn(2, 5, 12), is_causal=True).shape))
        #> (2, 5, 12)
        ```

    Reference:
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
        arXiv:2104.09864 (2021).
    """

    def __init__(
        self,
        head_dim: int,
        *,
        theta: float = 10000.0,
        scaling: RotaryScaling | None = None,
        rotary_dim: int | None = None,
        interleaved: bool = False,
    ) -> None:
        super().__init__()
        check_size("head_dim", head_dim)
        check_positive("theta", theta)
        check_flag("interleaved", interleaved)
        self.head_dim = head_dim
        self.theta = theta
        self.rotary_dim = check_rotary_dim(rotary_dim, head_dim)
        check_scaling(scaling, self.rotary_dim, theta)
        self.scaling = scaling
        self.interleaved = interleaved

    def rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys of the same positions, for a module that has checked all three.

        Cosines are computed once for both, and nothing is read back from the device.

        Args:
            query: (batch, heads, length, head_dim).
            key: (batch, KV heads, length, head_dim), same dtype.
            positions: As for a call; a caller who did not make them checks them.

        Returns:
            Both, rotated, with their shapes and dtype.
        """
        cos, sin = _cos_sin(query, positions, self.theta, self.scaling, self.rotary_dim)
        return _rotate(query, cos, sin, self.interleaved), _rotate(key, cos, sin, self.interleaved)

    def extra_repr(self) -> str:
        """Say what was set."""
        scaling = "" if self.scaling is None else f", scaling={self.scaling}"
        return (
            f"{self.head_dim}, theta={self.theta}, rotary_dim={self.rotary_dim}, "
            f"interleaved={self.interleaved}{scaling}"
        )

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate queries or keys by their positions.

        Args:
            x: (batch, heads, length, head_dim); float16, bfloat16, float32 or float64.
            positions: Integers, 0 or more; (length,), or (batch, length) where rows differ.

        Returns:
            The shape and dtype of `x`.

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If shapes do not fit, or a position is negative or above 2²⁴.
        """
        check_axes("x", x, "batch", "heads", "length", "head_dim")
        check_last_size("x", x, "head_dim", self.head_dim)
        return apply_rotary(
            x,
            positions,
            theta=self.theta,
            scaling=self.scaling,
            rotary_dim=self.rotary_dim,
            interleaved=self.interleaved,
        )


def rotary_to_half_split(
    weight: Tensor, num_heads: int, *, rotary_dim: int | None = None
) -> Tensor:
    r"""Reorder a query or key projection from interleaved to half-split pairs.

    $$W'_{h,\,i} = W_{h,\,2i} \qquad W'_{h,\,i + D/2} = W_{h,\,2i+1} \qquad i < D/2$$

    With q_proj and k_proj both reordered, `interleaved=False` gives the scores that the old
    weights gave with `interleaved=True`. The value projection stays as it is.

    Args:
        weight: The weight (num_heads·head_dim, input_dim) or the bias (num_heads·head_dim,) of
            q_proj or k_proj.
        num_heads: Number of heads that it makes: for k_proj that of the KV heads.
        rotary_dim: Number of dimensions of each head that are rotated; all if None.

    Returns:
        A reordered copy.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If the sizes do not fit, or `rotary_dim` is odd or larger than a head.

    Example:
        ```python
        import torch

        from attn_docs import rotary_to_half_split

        print(rotary_to_half_split(torch.arange(8.0), num_heads=2))
        #> tensor([0., 2., 1., 3., 4., 6., 5., 7.])
        ```

    Reference:
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
        arXiv:2104.09864 (2021).
    """
    heads, rotary_dim = _heads(weight, num_heads, rotary_dim)
    rotated, rest = heads[:, :rotary_dim], heads[:, rotary_dim:]
    rotated = torch.cat((rotated[:, 0::2], rotated[:, 1::2]), dim=1)
    return torch.cat((rotated, rest), dim=1).reshape(weight.shape)


def rotary_to_interleaved(
    weight: Tensor, num_heads: int, *, rotary_dim: int | None = None
) -> Tensor:
    r"""Reorder a query or key projection from half-split to interleaved pairs.

    $$W'_{h,\,2i} = W_{h,\,i} \qquad W'_{h,\,2i+1} = W_{h,\,i + D/2} \qquad i < D/2$$

    The inverse of `rotary_to_half_split`.

    Args:
        weight: The weight (num_heads·head_dim, input_dim) or the bias (num_heads·head_dim,) of
            q_proj or k_proj.
        num_heads: Number of heads that it makes: for k_proj that of the KV heads.
        rotary_dim: Number of dimensions of each head that are rotated; all if None.

    Returns:
        A reordered copy.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If the sizes do not fit, or `rotary_dim` is odd or larger than a head.

    Example:
        ```python
        import torch

        from attn_docs import rotary_to_interleaved

        print(rotary_to_interleaved(torch.tensor([0.0, 2, 1, 3, 4, 6, 5, 7]), num_heads=2))
        #> tensor([0., 1., 2., 3., 4., 5., 6., 7.])
        ```

    Reference:
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
        arXiv:2104.09864 (2021).
    """
    heads, rotary_dim = _heads(weight, num_heads, rotary_dim)
    rotated, rest = heads[:, :rotary_dim], heads[:, rotary_dim:]
    rotated = torch.stack(rotated.chunk(2, dim=1), dim=2).flatten(1, 2)
    return torch.cat((rotated, rest), dim=1).reshape(weight.shape)


__getattr__ = renamed(__name__)


def _heads(weight: Tensor, num_heads: int, rotary_dim: int | None) -> tuple[Tensor, int]:
    """Return each head's rows, (num_heads, head_dim, …), and how many dimensions are rotated."""
    check_float_tensor("weight", weight, min_axes=1)
    if weight.ndim > 2:
        raise ValueError(
            f"weight must have 1 or 2 axes (num_heads·head_dim, input_dim); "
            f"got shape {tuple(weight.shape)}"
        )
    check_size("num_heads", num_heads)
    check_divides("num_heads", num_heads, "weight's first size", weight.size(0))
    heads = weight.view(num_heads, weight.size(0) // num_heads, *weight.shape[1:])
    return heads, check_rotary_dim(rotary_dim, heads.size(1))
