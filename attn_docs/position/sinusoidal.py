"""Sinusoidal positions: a vector for each position, to be added to the token's."""

import torch
from torch import Tensor

from attn_docs._checks import check_even, check_places, check_positive


def sinusoidal(positions: Tensor, dim: int, *, base: float = 10000.0) -> Tensor:
    r"""Return a vector for each position: sines and cosines, each pair slower than the one before.

    $$P_{p,\,2i} = \sin p\,\omega_i \qquad P_{p,\,2i+1} = \cos p\,\omega_i \qquad
    \omega_i = c^{-2i/D}$$

    D is `dim`, c is `base`, and i counts the pairs from 0: sine and cosine of a pair have the same
    frequency. Each vector has the length √(D/2). Nothing is learned and there is no last position;
    what is far from 0 is less exact, because the angles have the precision of the result: near
    position 10⁶ those of float32 are off by 0.04 radians at 64 elements and by 0.11 at 4096.

    Args:
        positions: Integers, or float32 or float64 for places in between; any shape, from −2²⁴ to
            2²⁴.
        dim: Size of a vector, even; that of the token embeddings that it is added to.
        base: c, above 0: the slowest pair makes a full turn in 2π·c^(1 − 2/D) positions.

    Returns:
        Shape (…, dim), sine and cosine of a pair next to each other. float32; float64 for float64
        positions.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If `dim` is odd or below 1, `base` is out of range, or a position is beyond
            2²⁴ in either direction, or not finite.

    Example:
        ```python
        import torch

        from attn_docs import sinusoidal

        print([[round(x, 2) for x in row] for row in sinusoidal(torch.arange(3), 4).tolist()])
        #> [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0], [0.91, -0.42, 0.02, 1.0]]
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.5, arXiv:1706.03762 (2017).
    """
    check_places("positions", positions)
    check_even("dim", dim)
    check_positive("base", base)
    dtype = positions.dtype if positions.is_floating_point() else torch.float32
    pair = torch.arange(0, dim, 2, device=positions.device).to(dtype)  # 2i
    omega = 1.0 / base ** (pair / dim)  # D/2
    angles = positions.to(dtype).unsqueeze(-1) * omega  # … D/2
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # … D
