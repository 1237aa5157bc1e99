"""How to call a module that was written by somebody else."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from attn_docs._checks import check_callable, check_flag
from attn_docs.testing import huggingface
from attn_docs.testing.copies import check_real
from attn_docs.testing.subject import CONTEXT_NAMES

MASK_NAMES = ("attn_mask", "mask", "attention_mask", "src_mask")
# as PyTorch names a mask of the keys alone: (batch, m), True where there is no token
PADDING_NAMES = ("key_padding_mask", "src_key_padding_mask", "padding_mask")
CHOICES = {
    "mask_true": ("attends", "blocks", "added"),
    "mask_axes": (None, 1, 2, 3, 4),
    "arguments": ("x", "query, key, value"),
}
CAUSAL_NAMES = ("is_causal", "causal")
ROLES = {"attn_mask": MASK_NAMES, "is_causal": CAUSAL_NAMES, "context": CONTEXT_NAMES}
TRIPLES = (("query", "key", "value"), ("q", "k", "v"), ("queries", "keys", "values"))


def first(result: Any) -> Tensor:
    """Return the result itself, the first of several, or the last hidden state of a model."""
    if isinstance(result, (tuple, list)) or hasattr(result, "last_hidden_state"):
        result = result[0]
    tensor: Tensor = result
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
        causal_mask: Whether the future is hidden by the mask: a triangle is then a part of it where
            the check asks for `is_causal=True`, and no call is without a mask.
        context: Name of the argument for the sequence attended to; None if there is none.
        context_needed: Whether the module, whatever its signature says, cannot do without one.
        arguments: "x" for `module(x)`, "query, key, value" for three leading arguments.
        x: Name of the argument for `x`; None passes it as the first.
        batch_first: False if the module wants (length, batch, size).
        keywords: Arguments for every call, or a function of `x` that returns them.
        output: Takes the output out of what the module returns; the first of a tuple by default.
        step: `step(module, x, cache)` returns (output, cache): the next few positions, given what
            came before. `cache` is None at the start.
        knobs: Arguments for every call as `keywords`, each of which has to change the output.
        positions: Whether the module adds positions, or is given them among the keywords.
        guessed: What of all this was guessed, in words.

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
    keywords: Mapping[str, object] | Callable[[Tensor], Mapping[str, object]] = field(
        default_factory=dict
    )
    output: Callable[[Any], Tensor] = first
    step: Callable[[nn.Module, Tensor, Any], tuple[Tensor, Any]] | None = None
    mask_dtype: torch.dtype | None = None
    knobs: Mapping[str, object] = field(default_factory=dict)
    causal_mask: bool = False
    context_needed: bool = False
    x: str | None = None
    positions: bool = False
    guessed: str = ""

    @classmethod
    def huggingface(cls, module: nn.Module, **fields: Any) -> "Adapter":
        """Return how `transformers` 5 calls one of its attention layers, layers or models.

        Read from the signature and the config are the position embeddings, the mask (added, four
        axes), the triangle as a part of it, and how a cache goes on. A whole model is called with
        `inputs_embeds` and a mask of padding.

        Args:
            module: Of `transformers`, or written like those.
            fields: What is to differ from what was read.

        Returns:
            An adapter for this module.

        Raises:
            TypeError: If `module` is no `torch.nn.Module`.
            ValueError: If it takes no vectors, or attends by a kernel that no mask can be added to.
        """
        return cls(**(huggingface.fields_of(module) | fields))

    def __post_init__(self) -> None:
        """Refuse what no call could be made of."""
        for name in (*ROLES, "x"):
            if not isinstance(value := getattr(self, name), (str, NoneType)):
                raise TypeError(f"{name} must be the name of an argument or None; got {value!r}")
        for name, choices in CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                allowed = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"{name} must be one of {allowed}; got {value!r}")
        for name in ("batch_first", "causal_mask", "context_needed", "positions"):
            check_flag(name, getattr(self, name))
        if self.causal_mask and self.attn_mask is None:
            raise ValueError("causal_mask must be False where attn_mask is None; got True")
        self._check_mappings()
        check_callable("output", self.output)
        if self.step is not None:
            check_callable("step", self.step)
        if not isinstance(self.mask_dtype, (torch.dtype, NoneType)):
            raise TypeError(f"mask_dtype must be a torch.dtype or None; got {self.mask_dtype!r}")

    def _check_mappings(self) -> None:
        if not isinstance(self.keywords, Mapping) and not callable(self.keywords):
            raise TypeError(f"keywords must be a mapping or return one; got {self.keywords!r}")
        if not isinstance(self.knobs, Mapping):
            raise TypeError(f"knobs must be a mapping; got {self.knobs!r}")

    def guessing(self, said: str, **fields: Any) -> Self:
        """Return the adapter with other fields, and what was guessed."""
        return replace(self, **fields, guessed="; ".join(filter(None, [self.guessed, said])))

    def needs_context(self, module: nn.Module) -> bool:
        """Whether the module cannot be called without a context."""
        if self.arguments != "x" or self.context is None:
            return False
        return self.context_needed or self._required(module, self.context)

    def needs_mask(self, module: nn.Module) -> bool:
        """Whether the module cannot be called without a mask."""
        return self.causal_mask or self._required(module, self.attn_mask)

    def _required(self, module: nn.Module, name: str | None) -> bool:
        if name is None or (isinstance(self.keywords, Mapping) and name in self.keywords):
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
        return self.is_causal is not None or self.causal_mask

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
        others = list(inspect.signature(function).parameters.values())[2:]
        names = [parameter.name for parameter in others]
        taken = {role: [n for n in names if n in known] for role, known in ROLES.items()}
        known = sum(ROLES.values(), ())
        for parameter in others:
            option = isinstance(parameter.default, (NoneType, bool))
            bound_before = parameter.default is not parameter.empty and not option
            if parameter.name not in known and not bound_before:
                raise ValueError(
                    "adapter must name what it takes after module and x as one of "
                    f"{', '.join(known)}; got {parameter}"
                )
        for role, given in taken.items():
            if len(given) > 1:
                raise ValueError(f"adapter must have one name for {role}; got {', '.join(given)}")
        read: dict[str, Any] = {role: given[0] if given else None for role, given in taken.items()}
        return cls(**read, mask_axes=2, function=function)

    def needs_context(self, module: nn.Module) -> bool:  # noqa: ARG002  (the function decides)
        """Whether the function cannot be called on `x` alone."""
        return self.context is not None and (self.context_needed or self._needs(self.context))

    def needs_mask(self, module: nn.Module) -> bool:  # noqa: ARG002
        """Whether the function cannot be called without a mask."""
        return self._needs(self.attn_mask)

    def _needs(self, name: str | None) -> bool:
        parameter = inspect.signature(self.function).parameters.get(str(name))
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
    if is_causal and adapter.causal_mask:
        mask = _with_triangle(mask, x)
    is_causal = is_causal and adapter.is_causal is not None
    if isinstance(adapter, FunctionAdapter):
        options = {
            adapter.attn_mask: mask,
            adapter.is_causal: is_causal or None,
            adapter.context: context,
        }
        given = {name: v for name, v in options.items() if name is not None and v is not None}
        return functools.partial(adapter.function, module, x, **given)
    keywords = dict(adapter.keywords(x) if callable(adapter.keywords) else adapter.keywords)
    keywords.update(adapter.knobs)
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
    if adapter.x is not None:
        keywords[adapter.x] = sequences.pop(0)
    return lambda: adapter.output(module(*sequences, **keywords))


def _with_triangle(mask: Tensor | None, x: Tensor) -> Tensor:
    """Return the mask without the future of each query."""
    past = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).tril()
    return past if mask is None else mask & past


def arranged(adapter: Adapter, words: Tensor) -> Tensor:
    """Return (batch, length, size) as the module has it, or the other way round."""
    return words if adapter.batch_first else words.transpose(0, 1)


def adapter_for(module: nn.Module, adapter: Adapter | Callable[..., Tensor] | None) -> Adapter:
    """Return how to call the module: as it was said, or guessed from its arguments."""
    check_real(module)
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
    """Guess from the class, or from the names of the arguments of `forward`."""
    if (adapter := _of_torch(module)) is not None:
        return adapter
    if type(module).__module__.startswith("transformers."):
        said = "the module is called as transformers calls it, by Adapter.huggingface"
        return Adapter.huggingface(module).guessing(said)
    names = list(inspect.signature(module.forward).parameters)

    def one_of(choices: tuple[str, ...]) -> str | None:
        return next((name for name in choices if name in names), None)

    adapter = Adapter(
        attn_mask=one_of(MASK_NAMES),
        is_causal=one_of(CAUSAL_NAMES),
        context=one_of(CONTEXT_NAMES),
    )
    padding = one_of(PADDING_NAMES)
    if adapter.attn_mask is None and padding is not None:
        said = f"{padding} is PyTorch's: (batch, m), True where there is no token"
        adapter = replace(adapter, attn_mask=padding, mask_true="blocks", mask_axes=1, guessed=said)
    if tuple(names[:3]) in TRIPLES:
        adapter = replace(adapter, arguments="query, key, value")
    return adapter


def _of_torch(module: nn.Module) -> Adapter | None:
    """Return how PyTorch's own layers are called; None for the layers of others."""
    adapter = Adapter(mask_true="blocks", mask_axes=2, is_causal=None, context=None)
    if isinstance(module, nn.MultiheadAttention):
        return Adapter(
            arguments="query, key, value",
            mask_true="blocks",
            batch_first=module.batch_first,
            is_causal=None,
            keywords={"need_weights": False},
        )
    layers = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    layer = next((m for m in module.modules() if isinstance(m, layers)), None)
    if layer is None:
        return None
    first = layer.self_attn.batch_first
    if isinstance(module, nn.TransformerEncoder):
        # of keys alone: what an upper layer sees through a lower one, no other mask hides
        key_mask = "src_key_padding_mask"
        return replace(adapter, attn_mask=key_mask, mask_axes=1, batch_first=first)
    if isinstance(module, nn.TransformerEncoderLayer):
        return replace(adapter, attn_mask="src_mask", batch_first=first)
    if isinstance(module, (nn.TransformerDecoderLayer, nn.TransformerDecoder)):
        key_mask = "tgt_mask" if module is layer else "tgt_key_padding_mask"
        axes = 2 if module is layer else 1
        memory = functools.partial(_memory, batch_first=first)
        adapter = replace(adapter, attn_mask=key_mask, mask_axes=axes, batch_first=first)
        return replace(adapter, keywords=memory, guessed=huggingface.MEMORY)
    return None


def _memory(x: Tensor, *, batch_first: bool) -> dict[str, Tensor]:
    """Return what a decoder layer attends to besides `x`."""
    words = huggingface.memory_for(x)
    return {"memory": words if batch_first else words.transpose(0, 1)}
