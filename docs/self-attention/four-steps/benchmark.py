"""One fused projection against three, over batch, length and size."""

import functools
import weakref
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from docs._kit.measure import kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

SIZES = ((1, 1, 64), (1, 64, 64), (4, 128, 256), (4, 128, 1024))  # batch, words, size
ROUNDS = 31


class Three(nn.Module):
    """Queries, keys and values from three layers."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return queries, keys and values."""
        return tuple(layer(x) for layer in self.layers)


class One(nn.Module):
    """Queries, keys and values from one layer, three times as wide."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, 3 * size)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return queries, keys and values: views into one result."""
        return self.layer(x).chunk(3, dim=-1)


class Alive(TorchDispatchMode):
    """Counts the bytes of the tensors made inside it that are alive at the same time."""

    def __init__(self, known: list[Tensor]) -> None:
        super().__init__()
        self.storages = {tensor.untyped_storage().data_ptr() for tensor in known}
        self.now = self.peak = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        """Run an operation and count what it made."""
        result = func(*args, **(kwargs or {}))
        for tensor in (leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)):
            storage = tensor.untyped_storage()
            place, size = storage.data_ptr(), storage.nbytes()
            if place not in self.storages:  # a view has the storage of another tensor
                self.storages.add(place)
                self.now += size
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._gone, place, size)
        return result

    def _gone(self, place: int, size: int) -> None:
        self.storages.discard(place)
        self.now -= size


def peak_bytes(call: Callable[[], object], known: list[Tensor]) -> int:
    """Return how many bytes of tensors that a call made were alive at the peak."""
    with Alive(known) as alive:
        call()
    return alive.peak


def runs(batch: int, words: int, size: int) -> dict[str, tuple[Callable[[], object], ...]]:
    """Return calls of three layers and of one with the same weights, forward and backward."""
    x = torch.randn(batch, words, size, requires_grad=True)
    three, one = Three(size), One(size)
    with torch.no_grad():
        for name in ("weight", "bias"):
            parts = [getattr(layer, name) for layer in three.layers]
            getattr(one.layer, name).copy_(torch.cat(parts))
    gradient = torch.randn(batch, words, size)

    def forward(module: nn.Module) -> object:
        with torch.no_grad():
            return module(x)

    def both(module: nn.Module) -> object:
        return torch.autograd.grad(module(x), [x, *module.parameters()], [gradient] * 3)

    def peak(module: nn.Module) -> int:
        return peak_bytes(lambda: both(module), [x, gradient, *module.parameters()])

    return {
        run.__name__: tuple(functools.partial(run, module) for module in (three, one))
        for run in (forward, both, peak)
    }


def measure() -> dict[str, Measurement]:
    """Measure both on the same inputs and with the same weights, on one thread."""
    values = []
    with one_thread():
        torch.manual_seed(0)
        for batch, words, size in SIZES:
            of = {"batch": batch, "words": words, "size": size}
            calls = runs(batch, words, size)
            for run in ("forward", "both"):
                three, one = calls[run]
                three()
                ratio = {"value": paired_ratio(three, one, ROUNDS), "unit": "ratio"}
                kernel = kernel_of(three)
                values.append({**of, "run": run, "quantity": "time", **ratio, "kernel": kernel})
            kernel = kernel_of(calls["both"][0])
            for layers, peak in zip((3, 1), calls["peak"], strict=True):
                held = {"value": peak() / 2**10, "unit": "KiB", "kernel": kernel}
                values.append({**of, "layers": layers, "quantity": "peak", **held})
    return {"fused": measurement(values, threads=1)}
