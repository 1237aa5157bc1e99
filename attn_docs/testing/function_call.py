"""How a function wants to be called: as its reader described it, or as its signature suggests."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from attn_docs.testing.subject import WrongShapeError, foreign, tensor_of

OPTIONS = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
# names that others give to PyTorch's arguments
GUESSES = {
    "attn_mask": ("mask", "attention_mask", "attn_bias"),
    "dropout_p": ("dropout",),
    "is_causal": ("causal",),
    "scale": ("softmax_scale", "sm_scale", "scaling"),
    "enable_gqa": (),
}
Layout = Literal["bhnd", "bnhd", "hnd"]
MaskTrue = Literal["attends", "blocks", "added"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
MASK_TRUE: tuple[MaskTrue, ...] = get_args(MaskTrue)
MASK_AXES = (2, 4, 3)  # as they are tried


@dataclass(frozen=True)
class Call:
    """How to call a function and to read what it returns.

    The checks speak PyTorch's language: (batch, heads, length, size), and a boolean mask that is
    True where a query may attend. A call translates.

    Attributes:
        names: The function's name for each option that it takes.
        unsure: Options that it takes as far as its `**kwargs` tell.
        always: What each call needs, since it has no default.
        guesses: What was guessed, in words.
        mask_true: What True means in a mask; or "added".
        mask_axes: The axes that a mask (n, m) is given as.
        layout: The axes of query, key, value and output.
        output: Takes the output out of what is returned; the first of a tuple if None.
        strided: Whether tensors are given that are not contiguous.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    unsure: frozenset[str] = frozenset()
    always: Mapping[str, object] = field(default_factory=dict)
    guesses: tuple[str, ...] = ()
    mask_true: MaskTrue = "attends"
    mask_axes: int = 2
    layout: Layout = "bhnd"
    output: Callable[[Any], Tensor] | None = None
    strided: bool = False

    def arranged(self, tensor: Tensor) -> Tensor:
        """Return a new (batch, heads, length, size) in the function's layout."""
        if self.strided and self.layout == "bhnd":  # heads as a layer cuts them
            return (
                tensor.transpose(1, 2).clone(memory_format=torch.contiguous_format).transpose(1, 2)
            )
        if self.layout == "bnhd":
            tensor = tensor.transpose(1, 2)
        elif self.layout == "hnd":
            tensor = tensor.flatten(0, 1)
        if self.strided:  # the first part of a fused projection
            return torch.cat([tensor, tensor], -1)[..., : tensor.size(-1)]
        return tensor.clone(memory_format=torch.contiguous_format)

    def options(self, options: Mapping[str, Any], query: Tensor) -> dict[str, Any]:
        """Return options by the function's names, with a mask as it reads masks."""
        given = dict(self.always)
        for option, value in options.items():
            if option == "attn_mask":
                value = self._mask(value, query)  # noqa: PLW2901  (the same, translated)
            given[self.names.get(option, option)] = value
        return given

    def _mask(self, mask: Tensor, query: Tensor) -> Tensor:
        """Translate a mask (n, m), (batch, n, m) or (batch or 1, heads or 1, n, m)."""
        batch, heads = query.shape[:2]
        if mask.ndim == 3:  # one mask a sample
            mask = mask[:, None]
        if mask.ndim == 4 and self.layout == "hnd":
            mask = mask.expand(batch, heads, -1, -1).flatten(0, 1)
        elif mask.ndim == 4 and self.mask_axes == 3:
            mask = mask.expand(batch, 1, -1, -1)[:, 0]
        elif mask.ndim == 2 and self.mask_axes == 3:
            mask = mask.expand(batch * heads if self.layout == "hnd" else batch, -1, -1)
        elif mask.ndim == 2 and self.mask_axes == 4:
            mask = mask[None, None]
        if self.mask_true == "blocks":
            return ~mask
        if self.mask_true == "added":
            zeros = torch.zeros(mask.shape, dtype=query.dtype, device=query.device)
            return zeros.masked_fill(~mask, torch.finfo(query.dtype).min)
        return mask.clone()

    def read(self, returned: Any, query: Tensor, value: Tensor) -> Tensor:
        """Return the output as (batch, heads, length, size)."""
        if self.output is not None:
            with foreign():
                returned = self.output(returned)
        elif isinstance(returned, (tuple, list)) and returned:
            returned = returned[0]
        wanted = (*query.shape[:-1], value.size(-1))
        shape = torch.Size(wanted)
        if self.layout == "bnhd":
            shape = torch.Size((wanted[0], wanted[2], wanted[1], wanted[3]))
        elif self.layout == "hnd":
            shape = torch.Size((wanted[0] * wanted[1], *wanted[2:]))
        axes = {
            "bhnd": AXES,
            "bnhd": "(batch, length, heads, size)",
            "hnd": "(heads, length, size)",
        }
        output = tensor_of(returned, axes[self.layout])
        if output.shape != shape:
            raise WrongShapeError(output.shape, str(tuple(shape)))
        if self.layout == "bnhd":
            return output.transpose(1, 2)
        return output.reshape(wanted) if self.layout == "hnd" else output


AXES = "(batch, heads, length, size)"


def call_of(
    function: Callable[..., Any], told: Mapping[str, bool | None], names: Mapping[str, str]
) -> Call:
    """Return how the function is called, by its signature and by what was told."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    except ValueError:  # a function written in C, as PyTorch's
        takes = {name: names.get(name, name) for name in OPTIONS if told[name] is not False}
        return Call(names=takes)
    swallows = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    found, guesses, unsure = {}, [], set()
    for option in OPTIONS:
        if told[option] is False:
            continue
        name = _name(option, names, parameters)
        if name is None and not swallows:
            if told[option]:
                raise ValueError(_no_argument(option, option, parameters))
            continue
        if name is None:
            name = names.get(option, option)
            unsure |= set() if told[option] else {option}
        elif name != option and option not in names:
            guesses.append(f"{name} is taken for {option}")
        found[option] = name
    return Call(
        names=found,
        unsure=frozenset(unsure),
        always=_without_default(parameters, names),
        guesses=tuple(guesses),
    )


def _name(
    option: str, names: Mapping[str, str], parameters: Mapping[str, inspect.Parameter]
) -> str | None:
    """Return the function's name for an option; None if its signature has none."""
    if option in names:
        swallows = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if names[option] not in parameters and not swallows:
            raise ValueError(_no_argument(option, names[option], parameters))
        return names[option]
    return next((name for name in (option, *GUESSES[option]) if name in parameters), None)


def _no_argument(option: str, name: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    return (
        f"{option} must be an argument of attend, which has {', '.join(parameters)}; got {name!r}: "
        f"names={{{option!r}: …}} says another name"
    )


def _without_default(
    parameters: Mapping[str, inspect.Parameter], names: Mapping[str, str]
) -> dict[str, object]:
    """Return what is given where an option has no default, in a call that does not ask for it."""
    off: dict[str, object] = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False}
    always: dict[str, object] = {}
    for option in OPTIONS:
        name = _name(option, names, parameters)
        if (
            name is not None
            and name in parameters
            and parameters[name].default is inspect.Parameter.empty
        ):
            always[name] = off.get(option)
    return always


def scaled_by(call: Call, head_dim: int) -> Call:
    """Return the call with the usual scale where the function has no default for it."""
    name = call.names.get("scale")
    if name is None or name not in call.always:
        return call
    return replace(call, always={**call.always, name: head_dim**-0.5})
