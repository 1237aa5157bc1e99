"""Record one call of a module: what its layers took and gave."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from attn_docs.testing.trace import Attended

aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default)
ADDITIONS = (aten.add.Tensor, aten.add_.Tensor)
COPIES = (aten.clone.default,)


def matches(a: Tensor | None, b: Tensor) -> bool:
    """Tell whether two outputs are the same up to rounding."""
    if a is None or a.shape != b.shape:
        return False
    tolerance = 1e-5 if b.dtype == torch.float64 else 1e-4  # some compute the softmax in float32
    return bool((a - b).abs().max() <= tolerance * b.abs().max().clamp(min=1e-6))


@dataclass(frozen=True, eq=False)
class Layer:
    """One product with a parameter of the module: rows that came in, and rows that went out."""

    name: str
    input: Tensor
    output: Tensor
    wrong: str = ""


@dataclass(frozen=True, eq=False)
class Recording:
    """One call on one sample: what went in, what the layers did, and what came out.

    `mask` is what is known to be hidden in that call, `attended` each attention as it ran.
    """

    layers: tuple[Layer, ...]
    x: Tensor
    context: Tensor
    output: Tensor
    mask: Tensor | None = None
    attended: tuple["Attended", ...] = ()

    @property
    def projections(self) -> list[Layer]:
        """The layers that take `x` or the context."""
        return [layer for layer in self._projections if layer is not None]

    @property
    def rest(self) -> list[Layer]:
        """The layers that take something else: as a rule, the output projection alone."""
        found = zip(self.layers, self._projections, strict=True)
        return [layer for layer, projection in found if projection is None]

    @property
    def inner(self) -> Tensor:
        """What went into the output projection, or the output if there is none."""
        return self.rest[0].input if self.rest else self.output

    @cached_property
    def _projections(self) -> list[Layer | None]:
        return [_projection(layer, (self.x, self.context)) for layer in self.layers]


def _projection(layer: Layer, sources: tuple[Tensor, Tensor]) -> Layer | None:
    """Return a layer that takes one of the sources; None if it takes something else."""
    if any(matches(layer.input, source) for source in sources):
        return layer
    shared = (_shared_by_heads(layer, source) for source in sources)
    return next((found for found in shared if found is not None), None)


def _shared_by_heads(layer: Layer, source: Tensor) -> Layer | None:
    """Return a layer that takes each head's slice of the input, as one that takes the input."""
    length, size = source.shape
    width = layer.input.size(-1)
    if layer.input.numel() != source.numel() or width == size:
        return None
    for shape in ((length, -1), (-1, length)):  # heads within a position, or positions in a head
        rows, output = (t.reshape(*shape, t.size(-1)) for t in (layer.input, layer.output))
        if shape[0] == -1:
            rows, output = rows.transpose(0, 1), output.transpose(0, 1)
        if matches(rows.flatten(1), source):
            wrong = (
                f"{layer.name} is one projection that all heads share, each for its slice of the "
                "input: no head sees the whole input"
            )
            return replace(layer, input=rows.flatten(1), output=output.flatten(1), wrong=wrong)
    return None


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Record every product of a tensor with a parameter, whatever layer class made it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names = {
            parameter.untyped_storage().data_ptr(): name
            for name, parameter in module.named_parameters()
        }
        self.layers: list[Layer] = []
        self.results: list[Tensor] = []  # of each layer, and
        self.copies: list[Tensor] = []  # kept, so that no other tensor gets their memory
        self.failed: Exception | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and keep its input and output if it is a layer's."""
        result = func(*args, **(kwargs or {}))
        try:
            self._record(func, args, kwargs or {}, result)
        except Exception as error:  # raised after the call: here the module could swallow it
            self.failed = self.failed or error
        return result

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:  # noqa: ARG002
        if func in PRODUCTS:
            rows, weight = args[-2:]
            if name := self._name(weight):
                self.layers.append(Layer(name, _rows(rows).clone(), _rows(result).clone()))
                self.results.append(result)
        elif func in COPIES and (name := self._name(args[0])):
            self.copies.append(result)
            self.names[_pointer(result)] = name
        elif func in ADDITIONS and isinstance(args[1], Tensor) and self._name(args[1]):
            for i, layer in enumerate(self.layers):  # a bias that is added by itself
                if _pointer(self.results[i]) == _pointer(args[0]):
                    output = result.detach().reshape(layer.output.shape).clone()
                    self.layers[i], self.results[i] = replace(layer, output=output), result

    def _name(self, tensor: Tensor) -> str | None:
        """Return the name of the parameter that a tensor is, or is part of."""
        name, offset = self.names.get(_pointer(tensor)), tensor.storage_offset()
        if name is None or not offset:
            return name
        return f"{name}, from row {offset // max(tensor.stride())}"


def _rows(tensor: Tensor) -> Tensor:
    return tensor.detach().reshape(-1, tensor.size(-1))


def _pointer(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
