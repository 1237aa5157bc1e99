"""Kernel regression: a mean of the known values, in which the nearer ones count more."""

import math

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    check_flag,
    check_mask,
    check_points,
    check_positive,
    check_width,
)
from attn_docs.foundations.scaled_dot_product import masked_softmax


def nadaraya_watson(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    width: float | Tensor = 1.0,
    attn_mask: Tensor | None = None,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Predict a value for each query from known pairs, the near ones counting most.

    $$f(x) = \sum_{i=1}^{m} \operatorname{softmax}_i\!\left(-\frac{1}{2}
    \left(\frac{x - x_i}{\sigma}\right)^{2}\right) y_i$$

    Half precision is computed in float32.

    Args:
        query: (n,), the places x to predict at; float16, bfloat16, float32 or float64.
        keys: (m,), the places x_i of the known pairs, same dtype.
        values: (m,), the values y_i of the known pairs, same dtype.
        width: Standard deviation σ of the Gaussian, in the units of x; above 0. A tensor of one
            number if gradients shall reach it.
        attn_mask: Boolean (n, m), True where a query may use a pair, or additive; each size may
            be 1.
        need_weights: If True, the weights are returned as well.

    Returns:
        The predictions (n,) in the query's dtype; with `need_weights` also the weights (n, m),
        whose rows sum to 1. A query that may use no pair gets zeros.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `width` is not above 0.

    Example:
        ```python
        import torch

        from attn_docs import nadaraya_watson

        keys, values = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 10.0])
        print(nadaraya_watson(torch.tensor([1.0, 2.0]), keys, values))
        #> tensor([3.7698, 6.4982])
        ```

    Reference:
        Nadaraya, "On Estimating Regression", Theory of Probability & Its Applications 9 (1964);
        Watson, "Smooth Regression Analysis", Sankhyā A 26 (1964).
    """
    shape = check_points(query, keys, values)
    check_width(width)
    check_mask("attn_mask", attn_mask, shape, query)
    check_flag("need_weights", need_weights)
    dtype = torch.promote_types(query.dtype, torch.float32)
    distances = (query.to(dtype)[:, None] - keys.to(dtype)) / width  # n m, in widths
    weights = masked_softmax(-0.5 * distances.square(), attn_mask)  # n m
    output = (weights @ values.to(dtype)).to(query.dtype)  # n
    return (output, weights.to(query.dtype)) if need_weights else output


class KernelRegression(nn.Module):
    r"""Kernel regression that holds its width, and can learn it.

    The parameter is log σ, so that the width σ = exp(log σ) stays above 0 whatever a step of
    training does to it. Without `learnable` it is a buffer: saved and moved, not trained.

    Args:
        width: Standard deviation σ of the Gaussian to begin with, in the units of x; above 0.
        learnable: If True, the width is a parameter.

    Raises:
        TypeError: If `width` is not a number, or `learnable` not a flag.
        ValueError: If `width` is not above 0.

    Example:
        ```python
        import torch

        from attn_docs import KernelRegression

        keys, values = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 10.0])
        regression = KernelRegression(width=0.5)
        print(regression(torch.tensor([1.0, 2.0]), keys, values).detach())
        #> tensor([3.7634, 6.9938])
        print([name for name, _ in regression.named_parameters()], regression.width.item())
        #> ['log_width'] 0.5
        ```

    Reference:
        Nadaraya, "On Estimating Regression", Theory of Probability & Its Applications 9 (1964);
        Watson, "Smooth Regression Analysis", Sankhyā A 26 (1964).
    """

    def __init__(self, width: float = 1.0, learnable: bool = True) -> None:
        super().__init__()
        check_positive("width", width)
        check_flag("learnable", learnable)
        log_width = torch.tensor(math.log(width))
        if learnable:
            self.log_width = nn.Parameter(log_width)
        else:
            self.register_buffer("log_width", log_width)

    @property
    def width(self) -> Tensor:
        """The width σ, a tensor of one number."""
        return self.log_width.exp()

    def forward(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        attn_mask: Tensor | None = None,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return what `nadaraya_watson` does with this width."""
        return nadaraya_watson(
            query,
            keys,
            values,
            width=self.width,
            attn_mask=attn_mask,
            need_weights=need_weights,
        )
