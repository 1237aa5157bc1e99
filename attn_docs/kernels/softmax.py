"""A softmax that does not overflow, at once and block by block, and its log-sum-exp."""

import math

import torch
from torch import Tensor

from attn_docs._checks import check_axis, check_float_tensor, check_same_kind
from attn_docs._dtypes import at_least_float32


def stable_softmax(scores: Tensor, dim: int = -1) -> Tensor:
    r"""Turn scores into weights, the largest score of each row subtracted first.

    $$w_j = \frac{e^{s_j - t}}{\sum_l e^{s_l - t}} \qquad t = \max_l s_l$$

    No power exceeds 1, so none overflows, and each sum is at least 1. Half precision is computed
    in float32. A row of −∞ alone gives zeros, with zero gradients, where `torch.softmax` gives
    NaN.

    Args:
        scores: Any shape with at least one axis; float16, bfloat16, float32 or float64.
        dim: Axis that the weights sum to one over.

    Returns:
        Weights with `scores`' shape and dtype.

    Raises:
        TypeError: If `scores` is not a floating-point tensor, or `dim` not an int.
        ValueError: If `scores` has no axis, or `dim` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import stable_softmax

        print(stable_softmax(torch.tensor([100.0, 101.0, 103.0])))
        #> tensor([0.0420, 0.1142, 0.8438])
        ```

    Reference:
        Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax functions",
        arXiv:1909.03469 (2019).
    """
    check_float_tensor("scores", scores, min_axes=1)
    check_axis("dim", dim, scores.ndim)
    if not scores.size(dim):
        return scores.clone()
    computed = at_least_float32(scores)
    top = _finite(computed.detach().amax(dim, keepdim=True))
    powers = torch.exp(computed - top)
    return (powers / _not_zero(powers.sum(dim, keepdim=True))).to(scores.dtype)


class OnlineSoftmax:
    r"""The softmax of rows of scores, and the values mixed with it, as the keys come in blocks.

    For each row it holds the largest score so far, $t$, the sum of the powers, $\ell$, and the sum
    of the values, each times its power, $o$. When a block brings a larger score $t'$, both sums
    are multiplied by $e^{t - t'}$, as if all powers had been made with $t'$ from the start:

    $$t' = \max(t, \max_j s_j) \qquad \ell' = e^{t - t'} \ell + \sum_j e^{s_j - t'}
    \qquad o' = e^{t - t'} o + \sum_j e^{s_j - t'} v_j$$

    The sums are float32, or float64 if the scores are. Gradients flow to scores and values.

    Example:
        ```python
        import torch

        from attn_docs import OnlineSoftmax

        scores, values = torch.tensor([[0.0, 1.0, 3.0]]), torch.tensor([[1.0], [2.0], [3.0]])
        softmax = OnlineSoftmax()
        softmax.update(scores[:, :2], values[:2])
        softmax.update(scores[:, 2:], values[2:])
        print(softmax.result(), softmax.lse)
        #> tensor([[2.8018]]) tensor([3.1698])
        print(torch.softmax(scores, dim=-1) @ values, torch.logsumexp(scores, dim=-1))
        #> tensor([[2.8018]]) tensor([3.1698])
        ```

    Reference:
        Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867
        (2018); Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv:2112.05682
        (2021).
    """

    def __init__(self) -> None:
        """Start without a row: the first block says how many there are."""
        self._sums: tuple[Tensor, Tensor, Tensor] | None = None
        self._dtype = torch.float32

    def update(self, scores: Tensor, values: Tensor) -> None:
        """Take in the next block of keys.

        Args:
            scores: (…, n, block), scaled and masked: −∞ where a query may not attend. A block may
                have any number of keys; leading axes, n and dtype are the same in all blocks.
            values: (…, block, e), one row for each key, in `scores`' dtype.

        Raises:
            TypeError: If an argument is not a floating-point tensor, or the dtypes differ.
            ValueError: If the shapes do not fit, or are others than in the block before.
        """
        self._check(scores, values)
        self._dtype = scores.dtype
        scores, values = at_least_float32(scores), at_least_float32(values)
        top, total, mixed = self._sums or _start(scores, values)

        highest = torch.cat((top[..., None], scores.detach()), dim=-1).amax(-1)  # … n
        base = _finite(highest)
        shrink = torch.exp(top - base)  # … n: 1 where the maximum stays
        powers = torch.exp(scores - base[..., None])  # … n block
        total = shrink * total + powers.sum(-1)  # … n
        mixed = shrink[..., None] * mixed + powers @ values  # … n e
        self._sums = highest, total, mixed

    def result(self) -> Tensor:
        """Return the values mixed with the softmax of all scores so far.

        Returns:
            (…, n, e) in the scores' dtype; zeros for a row of −∞ alone.

        Raises:
            RuntimeError: If no block has been taken in.
        """
        _, total, mixed = self._seen()
        return (mixed / _not_zero(total)[..., None]).to(self._dtype)

    @property
    def lse(self) -> Tensor:
        r"""The log-sum-exp of each row so far, $\log \sum_j e^{s_j} = t + \log \ell$.

        Shape (…, n), float32, or float64 if the scores are; −∞ for a row of −∞ alone.
        """
        top, total, _ = self._seen()
        return torch.where(total == 0, -math.inf, top + torch.log(_not_zero(total)))

    def _seen(self) -> tuple[Tensor, Tensor, Tensor]:
        if self._sums is None:
            raise RuntimeError("update must be called with a block first")
        return self._sums

    def _check(self, scores: Tensor, values: Tensor) -> None:
        check_float_tensor("scores", scores, min_axes=2)
        check_float_tensor("values", values, min_axes=2)
        check_same_kind("values", values, "scores", scores)
        leading, keys = tuple(scores.shape[:-2]), scores.size(-1)
        if values.shape[:-1] != (*leading, keys):
            raise ValueError(
                f"values must have shape (…, block, e) = ({', '.join(map(str, (*leading, keys)))}, "
                f"e); got {tuple(values.shape)}"
            )
        if self._sums is None:
            return
        top, _, mixed = self._sums
        if scores.dtype != self._dtype:
            raise TypeError(
                f"scores must have the dtype {self._dtype} of the blocks before; got {scores.dtype}"
            )
        if scores.shape[:-1] != top.shape:
            raise ValueError(
                f"scores must have the rows {tuple(top.shape)} of the blocks before; "
                f"got {tuple(scores.shape[:-1])}"
            )
        if values.size(-1) != mixed.size(-1):
            raise ValueError(
                f"values must have the size {mixed.size(-1)} of the blocks before; "
                f"got {values.size(-1)}"
            )


def _start(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return maximum, sum and mix of rows that have seen no key."""
    total = scores.new_zeros(scores.shape[:-1])
    return total - math.inf, total, values.new_zeros((*total.shape, values.size(-1)))


def _finite(top: Tensor) -> Tensor:
    """Return what is subtracted: −∞ − (−∞) would be NaN, and −∞ − 0 has the right power, 0."""
    return top.masked_fill(top == -math.inf, 0.0)


def _not_zero(total: Tensor) -> Tensor:
    """Return what is divided by; only a row of −∞ alone has the sum 0, as a maximum gives 1."""
    return total.masked_fill(total == 0, 1.0)
