"""One fused projection against three, over batch, length and size."""

import weakref
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from docs._kit.markdown import table
from docs._kit.measure import circumstances, paired_ratio

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


class Measurement(NamedTuple):
    """What three layers need beside one: ratios of time, and bytes of each at the peak."""

    forward: float
    both: float
    peaks: tuple[int, int]


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


def measure() -> dict[tuple[int, int, int], Measurement]:
    """Measure both on the same inputs and with the same weights, on one thread."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    measured = {}
    for batch, words, size in SIZES:
        x = torch.randn(batch, words, size, requires_grad=True)
        three, one = Three(size), One(size)
        with torch.no_grad():
            for name in ("weight", "bias"):
                parts = [getattr(layer, name) for layer in three.layers]
                getattr(one.layer, name).copy_(torch.cat(parts))
        gradient = torch.randn(batch, words, size)

        def forward(module: nn.Module, x: Tensor = x) -> object:
            with torch.no_grad():
                return module(x)

        def both(module: nn.Module, x: Tensor = x, gradient: Tensor = gradient) -> object:
            inputs = [x, *module.parameters()]
            return torch.autograd.grad(module(x), inputs, [gradient] * 3)

        runs = [(lambda m=m, run=run: run(m)) for run in (forward, both) for m in (three, one)]
        for run in runs:
            run()
        measured[batch, words, size] = Measurement(
            paired_ratio(runs[0], runs[1], ROUNDS),
            paired_ratio(runs[2], runs[3], ROUNDS),
            (
                peak_bytes(runs[2], [x, gradient, *three.parameters()]),
                peak_bytes(runs[3], [x, gradient, *one.parameters()]),
            ),
        )
    torch.set_num_threads(threads)
    return measured


def fused_table(measured: dict[tuple[int, int, int], Measurement], language: str) -> str:
    """Return the measurement as a table, times as ratios of three layers to one."""
    header = {
        "en": (
            "batch × words × size",
            "time, forward",
            "with backward pass",
            "peak memory, three",
            "peak memory, one",
        ),
        "zh": (
            "批次 × 词数 × 维度",
            "前向用时",
            "含反向的用时",
            "峰值内存（三层）",
            "峰值内存（一层）",
        ),
    }[language]
    rows = (
        (
            " × ".join(f"{size:,}" for size in sizes),
            f"{found.forward:.2f}×",
            f"{found.both:.2f}×",
            *(f"{peak / 2**10:,.0f} KiB" for peak in found.peaks),
        )
        for sizes, found in measured.items()
    )
    text = {
        "en": "Only the projections, float32. Time is that of three layers over that of one: above "
        f"1, one layer is the faster. Median of {ROUNDS} pairs of runs in turns. Memory is that of "
        "all tensors alive at the same time, forward and backward, counted.",
        "zh": "只量投影，float32。用时是三层除以一层的比值：大于 1，就是一层更快。"
        f"取 {ROUNDS} 对交替运行的中位数。内存是前向加反向时同时存在的张量，逐个计数。",
    }[language]
    space = " " if language == "en" else ""
    return (
        f"{table(header, rows)}\n\n{text}{space}{circumstances(language, threads=1)}\n"
        "{ .measured }"
    )


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows."""
    measured = measure()
    return {"fused": lambda language: fused_table(measured, language)}
