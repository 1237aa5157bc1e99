"""The options of multi-head attention, for the classes and functions that pass them on."""

from collections.abc import Callable
from typing import TypedDict

from torch import Tensor

from attn_docs.position.rotary import RotaryEmbedding


class Options(TypedDict, total=False):
    """What `MultiHeadAttention` takes by name, whether heads share keys or not."""

    kv_dim: int | None
    head_dim: int | None
    bias: bool
    dropout: float
    attend: Callable[..., Tensor]
    rotary: RotaryEmbedding | None
