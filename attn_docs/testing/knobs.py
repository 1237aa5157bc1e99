"""Knobs: options with common names, which functions are called with and modules keep."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attn_docs.testing.copies import deep_copy

Kind = Literal["softcap", "window", "sinks", "scale"]
KINDS: dict[Kind, tuple[str, ...]] = {
    "softcap": (
        "softcap",
        "soft_cap",
        "logit_cap",
        "logits_soft_cap",
        "attn_logits_soft_cap",
        "attn_logit_softcapping",
        "logit_softclamp_value",
    ),
    "window": (
        "window",
        "window_size",
        "sliding_window",
        "sliding_window_size",
        "local_window_size",
        "left_window",
        "window_left",
    ),
    "sinks": ("sinks", "sink", "s_aux", "learnable_sink"),
    "scale": ("scale", "scaling", "softmax_scale", "sm_scale"),
}
"""What each kind of knob is called in PyTorch, FlashAttention, FlashInfer, transformers, …"""

IGNORED = "accepted and ignored"
# layers whose scale is no factor on scores
NO_ATTENTION = re.compile("norm|rope|rotary|embed|positional|conv", re.IGNORECASE)


def kind_of(name: str) -> Kind | None:
    """Return what a name says of a knob; None if it is not known."""
    return next((kind for kind, names in KINDS.items() if name in names), None)


@dataclass(frozen=True)
class Kept:
    """A number that a layer keeps.

    Attributes:
        holder: The layer, or its config.
        path: Where the layer stands in the module.
        name: The attribute, or the argument of a `functools.partial` that the layer keeps.
        value: What stands there.
        partial: The attribute that holds the partial function; empty if there is none.
        config: Whether it is a config that holds it.
    """

    holder: Any
    path: str
    name: str
    value: Any
    partial: str = ""
    config: bool = False

    def __str__(self) -> str:
        """Return where it stands, and what."""
        place = ".".join(filter(None, [self.path, self.partial, self.name]))
        return f"{place}={shown(self.value)}"

    @property
    def given(self) -> bool:
        """Whether somebody gave it: its class, or its config's, has another default, or none.

        What stands at its default may be switched off by something else.
        """
        if self.partial:
            return True
        default = _default(self.holder, self.name)
        config = getattr(self.holder, "config", None)
        if default is UNKNOWN and getattr(config, self.name, None) is self.value:
            default = _default(config, self.name)
        if isinstance(self.value, Tensor):
            return default is not UNKNOWN
        return default is not UNKNOWN and bool(default != self.value)


UNKNOWN = object()


def _default(owner: Any, name: str) -> Any:
    """Return the default of what an object is built with; `UNKNOWN` if it is built without."""
    parameter = inspect.signature(type(owner).__init__).parameters.get(name)
    return getattr(type(owner), name, UNKNOWN) if parameter is None else parameter.default


def shown(value: Any) -> str:
    """Return a number as it is written, a tensor by its sizes."""
    if isinstance(value, Tensor) and value.numel() > 1:
        return f"a tensor {tuple(value.shape)}"
    return f"{value.item():.4g}" if isinstance(value, Tensor) else repr(value)


def kept_by(module: nn.Module, wanted: Callable[[str], bool]) -> Iterator[Kept]:
    """Yield the numbers with such names that the module, a layer in it or a config keeps."""
    configs: dict[tuple[int, str], Kept] = {}
    for path, layer in module.named_modules():
        own = {**vars(layer), **dict(layer.named_buffers(recurse=False))}
        for name, value in own.items():
            if isinstance(value, functools.partial):
                for argument in filter(wanted, value.keywords):
                    yield Kept(layer, path, argument, value.keywords[argument], partial=name)
            elif wanted(name):
                yield Kept(layer, path, name, value)
            elif name == "config" and hasattr(value, "__dict__"):
                place = f"{path}.config".lstrip(".")
                for field_name in filter(wanted, vars(value)):
                    kept = Kept(value, place, field_name, vars(value)[field_name], config=True)
                    configs[id(value), field_name] = kept
    yield from configs.values()


def is_set(kind: Kind | None, value: Any) -> bool:
    """Tell whether a value of that kind asks for something: None, 0 and -1 do not."""
    if isinstance(value, (nn.Parameter, bool)):
        return False
    if isinstance(value, Tensor):
        one = value.numel() == 1 and value.item() > 0
        return value.is_floating_point() and (kind == "sinks" or (kind != "window" and one))
    if kind == "window":
        return isinstance(value, int) and value > 0
    return kind != "sinks" and isinstance(value, (int, float)) and 0 < value < float("inf")


def other(kind: Kind, value: Any) -> Any:
    """Return another value, which must give something else; the same of one that asks nothing."""
    if not is_set(kind, value):
        return value
    if kind == "sinks":
        return value + 1
    if kind == "scale":
        return value * 0.37
    if kind == "window":
        return 1 if value == 2 else 2
    small = 0.5 if value != 0.5 else 0.25
    return torch.full_like(value, small) if isinstance(value, Tensor) else small


@dataclass
class Changed:
    """A copy of a module in which one knob has another value.

    Attributes:
        module: The copy.
        reads: The knob's name, as often as it was read or handed to a function.
        watched: Whether each place where it stands could be watched.
    """

    module: nn.Module
    reads: list[str] = field(default_factory=list)
    watched: bool = True


def changed(module: nn.Module, name: str, value: Callable[[Any], Any]) -> Changed:
    """Return a copy of a module with another value of a knob, made of the one that is kept."""
    made = Changed(deep_copy(module))
    configs = {id(getattr(layer, "config", None)) for layer in module.modules()}
    for kept in list(kept_by(made.module, lambda held: held == name)):
        if (
            kept.config and id(kept.holder) in configs
        ):  # it could not be copied, and is the reader's
            continue
        _put(made, kept, value(kept.value))
    return made


def _put(made: Changed, kept: Kept, value: Any) -> None:
    """Put a value where another stands, and watch who reads it."""
    if kept.partial:
        held = getattr(kept.holder, kept.partial)

        def called(*args: Any, **kwargs: Any) -> Any:
            made.reads.append(kept.name)
            return held.func(*args, **kwargs)

        keywords = {**held.keywords, kept.name: value}
        setattr(kept.holder, kept.partial, functools.partial(called, *held.args, **keywords))
        return
    if kept.config:
        setattr(kept.holder, kept.name, value)
        return
    try:
        _watch(made, kept, value)
    except TypeError:  # a class that cannot be inherited from
        made.watched = False
        setattr(kept.holder, kept.name, value)


def _watch(made: Changed, kept: Kept, value: Any) -> None:
    """Make the attribute a property, which notes that it is read."""
    cell, kind = [value], type(kept.holder)

    def read(_: nn.Module) -> Any:
        made.reads.append(kept.name)
        return cell[0]

    def write(_: nn.Module, new: Any) -> None:
        cell[0] = new

    members = {kept.name: property(read, write), "__module__": kind.__module__}
    kept.holder.__class__ = type(kind.__name__, (kind,), members)


def check_knobs(knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that are no names with values."""
    if not isinstance(knobs, Mapping):
        raise TypeError(f"knobs must map names to values; got {knobs!r}")
    for name in knobs:
        if not isinstance(name, str):
            raise TypeError(f"knobs must have names for keys; got {name!r}")


def check_kept(module: nn.Module, knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that no layer of the module keeps."""
    check_knobs(knobs)
    for name in knobs:
        if next(kept_by(module, lambda held: held == name), None) is None:  # noqa: B023
            raise ValueError(
                "knobs must name attributes of the module, a layer in it or a config; got "
                f"{name!r}; what calls are given, Adapter(knobs=…) names"
            )
