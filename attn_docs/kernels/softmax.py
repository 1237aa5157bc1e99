"""TODO: one sentence."""

from torch import Tensor


def stable_softmax(scores: Tensor, dim: int = -1) -> Tensor:
    r"""TODO."""
    raise NotImplementedError


class OnlineSoftmax:
    r"""TODO."""
