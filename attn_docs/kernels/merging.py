"""TODO: one sentence."""

from torch import Tensor


def attention_with_lse(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    r"""TODO."""
    raise NotImplementedError


def merge_attention(outputs: list[Tensor], lses: list[Tensor]) -> tuple[Tensor, Tensor]:
    r"""TODO."""
    raise NotImplementedError


def split_kv_attention(query: Tensor, key: Tensor, value: Tensor, splits: int) -> Tensor:
    r"""TODO."""
    raise NotImplementedError


def ring_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO."""
    raise NotImplementedError
