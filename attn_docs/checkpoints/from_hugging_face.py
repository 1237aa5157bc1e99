"""An attention layer of transformers as this book's module, with its weights."""

from torch import nn

from attn_docs._checks import check_instance
from attn_docs.checkpoints._config import Converter, place
from attn_docs.checkpoints._others import OTHERS
from attn_docs.checkpoints._separate import SEPARATE

CONVERTERS: dict[str, Converter] = {**SEPARATE, **OTHERS}


def from_transformers(module: nn.Module, config: object | None = None) -> nn.Module:
    r"""Return this book's module with the weights of an attention layer of transformers.

    $$\operatorname{ours}(x) = \operatorname{theirs}(x) \qquad \text{for each } x$$

    TODO
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a Module; got {type(module).__name__}")
    name = type(module).__name__
    if name not in CONVERTERS:
        known = ", ".join(sorted(CONVERTERS))
        raise ValueError(f"module must be one of {known}; got {name}")
    config = getattr(module, "config", None) if config is None else config
    if config is None:
        raise ValueError("config must be given for a layer that holds none; got None")
    return place(CONVERTERS[name](module, config), module)
