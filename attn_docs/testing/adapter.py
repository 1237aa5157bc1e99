"""How to call a module that was written by somebody else."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attn_docs._checks import check_callable, check_flag
from attn_docs.testing.subject import CONTEXT_NAMES

MASK_NAMES = ("attn_mask", "mask", "attention_mask")
CHOICES = {
    "mask_true": ("attends", "blocks", "added"),
    "mask_axes": (None, 1, 2, 3, 4),
    "arguments": ("x", "query, key, value"),
}
CAUSAL_NAMES = ("is_causal", "causal")
TRIPLES = (("query", "key", "value"), ("q", "k", "v"), ("queries", "keys", "values"))


def first(result: Any) -> Tensor:
    """Return the result itself, or the first of several."""
    tensor: Tensor = result[0] if isinstance(result, (tuple, list)) else result
    return tensor


@dataclass(frozen=True)
class Adapter:
    """Names and habits of a module's call.

    The checks speak one language: `x` and `context` are (batch, length, size), a mask is boolean
    (n, m), True where a query may attend. An adapter translates. For what these fields cannot
    say, pass a function `call(module, x, *, attn_mask=None, is_causal=False, context=None)` that
    returns (batch, n, size); leave out the arguments that the module has not.

    A default name that the module's `forward` has not counts as None.

    Attributes:
        attn_mask: Name of the mask's argument; None if there is none.
        mask_true: What True means to the module: "attends", "blocks", or "added" for a mask of
            0 and the dtype's most negative number, which is added to the scores.
        mask_axes: Axes of the mask: 1 for (batch, m), 2 for (n, m), 3 for (batch, n, m), 4 for
            (batch, 1, n, m). None tries 2, 3, 4 and 1.
        mask_dtype: Type of a mask that is not added: torch.bool, or torch.long for 1 and 0. None
            tries both, and the type of the input.
        is_causal: Name of the flag that hides the future; None if there is none.
        context: Name of the argument for the sequence attended to; None if there is none.
        arguments: "x" for `module(x)`, "query, key, value" for three leading arguments.
        batch_first: False if the module wants (length, batch, size).
        keywords: Arguments for every call.
        output: Takes the output out of what the module returns; the first of a tuple by default.
        step: `step(module, x, cache)` returns (output, cache): the next few positions, given what
            came before. `cache` is None at the start.
        knobs: Arguments for every call as `keywords`, each of which has to change the output.

    Raises:
        TypeError: If a field has the wrong type.
        ValueError: If a field that names a choice is none of the choices.

    Example:
        ```python
        import torch

        from attn_docs.testing import Adapter, check_module

        theirs = torch.nn.MultiheadAttention(64, 4)  # (length, batch, size); True blocks
        adapter = Adapter(
            arguments="query, key, value",
            mask_true="blocks",
            batch_first=False,
            keywords={"need_weights": False},
        )
        print(check_module(theirs, embed_dim=64, adapter=adapter).passed)
        #> True
        ```
    """

    attn_mask: str | None = "attn_mask"
    mask_true: Literal["attends", "blocks", "added"] = "attends"
    mask_axes: int | None = None
    is_causal: str | None = "is_causal"
    context: str | None = "context"
    arguments: Literal["x", "query, key, value"] = "x"
    batch_first: bool = True
    keywords: Mapping[str, object] = field(default_factory=dict)
    output: Callable[[Any], Tensor] = first
    step: Callable[[nn.Module, Tensor, Any], tuple[Tensor, Any]] | None = None
    mask_dtype: torch.dtype | None = None
    knobs: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no call could be made of."""
        for name in ("attn_mask", "is_causal", "context"):
            if not isinstance(value := getattr(self, name), (str, NoneType)):
                raise TypeError(f"{name} must be the name of an argument or None; got {value!r}")
        for name, choices in CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                allowed = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"{name} must be one of {allowed}; got {value!r}")
        check_flag("batch_first", self.batch_first)
        for name in ("keywords", "knobs"):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"{name} must be a mapping; got {getattr(self, name)!r}")
        check_callable("output", self.output)
        if self.step is not None:
            check_callable("step", self.step)
        if not isinstance(self.mask_dtype, (torch.dtype, NoneType)):
            raise TypeError(f"mask_dtype must be a torch.dtype or None; got {self.mask_dtype!r}")

    def needs_context(self, module: nn.Module) -> bool:
        """Whether the module cannot be called without a context."""
        return self.arguments == "x" and self._required(module, self.context)

    def needs_mask(self, module: nn.Module) -> bool:
        """Whether the module cannot be called without a mask."""
        return self._required(module, self.attn_mask)

    def _required(self, module: nn.Module, name: str | None) -> bool:
        if name is None or name in self.keywords:
            return False
        parameter = inspect.signature(module.forward).parameters.get(name)
        return parameter is not None and parameter.default is inspect.Parameter.empty

    @property
    def takes_mask(self) -> bool:
        """Whether a mask can be passed."""
        return self.attn_mask is not None

    @property
    def takes_causal(self) -> bool:
        """Whether the module can be told to hide the future."""
        return self.is_causal is not None

    @property
    def takes_context(self) -> bool:
        """Whether the module can attend to another sequence."""
        return self.context is not None or self.arguments == "query, key, value"

    def __call__(
        self,
        module: nn.Module,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        context: Tensor | None = None,
    ) -> Tensor:
        """Call the module, and return (batch, n, size)."""
        output: Tensor = bound(
            self, module, x, attn_mask=attn_mask, is_causal=is_causal, context=context
        )()
        return arranged(self, output)

    def translate(self, mask: Tensor, x: Tensor) -> Tensor:
        """Return a mask (n, m) or (batch, n, m), True: may attend, as the module wants it."""
        if self.mask_true == "blocks":
            mask = ~mask
        if self.mask_true == "added":
            lowest = torch.finfo(x.dtype).min
            mask = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, lowest)
        elif self.mask_dtype is not None:
            mask = mask.to(self.mask_dtype)
        if self.mask_axes in (2, None):
            return mask
        mask = mask.expand(x.size(0), *mask.shape[-2:])
        if self.mask_axes == 1:
            return mask[:, 0]
        return mask if self.mask_axes == 3 else mask[:, None]


@dataclass(frozen=True)
class FunctionAdapter(Adapter):
    """A function that calls the module, as an adapter."""

    function: Callable[..., Tensor] = field(kw_only=True)

    @classmethod
    def of(cls, function: Callable[..., Tensor]) -> "FunctionAdapter":
        """Read from the signature what the function can be told."""
        names = inspect.signature(function).parameters
        return cls(
            attn_mask="attn_mask" if "attn_mask" in names else None,
            is_causal="is_causal" if "is_causal" in names else None,
            context="context" if "context" in names else None,
            mask_axes=2,
            function=function,
        )

    def needs_context(self, module: nn.Module) -> bool:  # noqa: ARG002  (the function decides)
        """Whether the function cannot be called on `x` alone."""
        return self._needs("context")

    def needs_mask(self, module: nn.Module) -> bool:  # noqa: ARG002
        """Whether the function cannot be called without a mask."""
        return self._needs("attn_mask")

    def _needs(self, name: str) -> bool:
        parameter = inspect.signature(self.function).parameters.get(name)
        return parameter is not None and parameter.default is inspect.Parameter.empty


def bound(
    adapter: Adapter,
    module: nn.Module,
    x: Tensor,
    *,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    context: Tensor | None = None,
) -> Callable[[], Any]:
    """Return the call of the module, ready to be made: nothing that is left to run is ours."""
    mask = None if adapter.attn_mask is None else attn_mask
    is_causal = is_causal and adapter.is_causal is not None
    if isinstance(adapter, FunctionAdapter):
        context = None if adapter.context is None else context
        options = {"attn_mask": mask, "is_causal": is_causal or None, "context": context}
        given = {name: value for name, value in options.items() if value is not None}
        return functools.partial(adapter.function, module, x, **given)
    keywords = {**adapter.keywords, **adapter.knobs}
    if mask is not None:
        keywords[str(adapter.attn_mask)] = adapter.translate(mask, x)
    if is_causal:
        keywords[str(adapter.is_causal)] = True
    sequences = [arranged(adapter, x)]
    context = None if context is None else arranged(adapter, context)
    if adapter.arguments == "query, key, value":
        sequences += [sequences[0] if context is None else context] * 2
    elif context is not None and adapter.context is not None:
        keywords[adapter.context] = context
    return lambda: adapter.output(module(*sequences, **keywords))


def arranged(adapter: Adapter, words: Tensor) -> Tensor:
    """Return (batch, length, size) as the module has it, or the other way round."""
    return words if adapter.batch_first else words.transpose(0, 1)


def adapter_for(module: nn.Module, adapter: Adapter | Callable[..., Tensor] | None) -> Adapter:
    """Return how to call the module: as it was said, or guessed from its arguments."""
    if adapter is None:
        return _guessed(module)
    if isinstance(adapter, Adapter):
        return _without_missing(adapter, module)
    check_callable("adapter", adapter)
    return FunctionAdapter.of(adapter)


def _without_missing(adapter: Adapter, module: nn.Module) -> Adapter:
    """Return the adapter without the default names that `forward` does not have."""
    parameters = inspect.signature(module.forward).parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    missing: dict[str, Any] = {}
    if isinstance(module, nn.MultiheadAttention):
        missing["is_causal"] = None  # there it is a hint, and wants the mask as well
    for name in ("attn_mask", "is_causal", "context"):
        given = getattr(adapter, name)
        if given is None or given in parameters:
            continue
        if given == name:  # the default
            missing[name] = None
        elif not any_name:
            raise ValueError(f"{name} must name an argument of the module's forward; got {given!r}")
    return replace(adapter, **missing)


def _guessed(module: nn.Module) -> Adapter:
    """Guess from the names of the arguments of `forward`."""
    if isinstance(module, nn.MultiheadAttention):
        return Adapter(
            arguments="query, key, value",
            mask_true="blocks",
            batch_first=module.batch_first,
            is_causal=None,
            keywords={"need_weights": False},
        )
    names = list(inspect.signature(module.forward).parameters)

    def one_of(choices: tuple[str, ...]) -> str | None:
        return next((name for name in choices if name in names), None)

    adapter = Adapter(
        attn_mask=one_of(MASK_NAMES),
        is_causal=one_of(CAUSAL_NAMES),
        context=one_of(CONTEXT_NAMES),
    )
    if tuple(names[:3]) in TRIPLES:
        adapter = replace(adapter, arguments="query, key, value")
    return adapter
