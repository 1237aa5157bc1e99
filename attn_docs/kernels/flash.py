"""TODO: one sentence."""

from torch import Tensor


def flash_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO."""
    raise NotImplementedError
