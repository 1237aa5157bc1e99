"""One fused projection against three, over batch, length and size."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn

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

    return {
        run.__name__: tuple(functools.partial(run, module) for module in (three, one))
        for run in (forward, both)
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
    return {"fused": measurement(values, threads=1)}
