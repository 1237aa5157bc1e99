"""A recurrent layer against a self-attention layer, over length."""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docs._kit.markdown import table
from docs._kit.measure import circumstances

BATCH, SIZE = 16, 32
LENGTHS = (4, 32, 256, 2048, 4096)


class SelfAttention(nn.Module):
    """One head with its four projections, around PyTorch's function."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv_proj = nn.Linear(SIZE, 3 * SIZE)
        self.out_proj = nn.Linear(SIZE, SIZE)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return as many vectors as there are inputs."""
        # with an axis for the head, PyTorch takes its fast kernel
        query, key, value = self.qkv_proj(inputs).unsqueeze(1).chunk(3, dim=-1)
        return self.out_proj(F.scaled_dot_product_attention(query, key, value).squeeze(1))


class Measurement(NamedTuple):
    """Seconds of a call, forward alone and with the backward pass."""

    forward: float
    both: float


def least_seconds(calls: list[Callable[[], object]], budget: float = 1.0) -> list[float]:
    """Return each call's least time; the calls take turns, so a busy machine slows all alike."""
    for call in calls:
        call()
    least = [float("inf")] * len(calls)
    end = time.perf_counter() + budget
    while time.perf_counter() < end:
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[index] = min(least[index], time.perf_counter() - start)
    return least


def measure() -> dict[int, dict[str, Measurement]]:
    """Measure both layers on the same inputs, length by length, on one thread."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gru, attention = nn.GRU(SIZE, SIZE, batch_first=True), SelfAttention()
    measured = {}
    for n in LENGTHS:
        inputs = torch.randn(BATCH, n, SIZE)

        def run_gru(inputs: Tensor = inputs) -> Tensor:
            return gru(inputs)[0]

        def run_attention(inputs: Tensor = inputs) -> Tensor:
            return attention(inputs)

        def both(run: Callable[[], Tensor], module: nn.Module) -> object:
            return torch.autograd.grad(run().sum(), list(module.parameters()))

        with torch.no_grad():
            forward = least_seconds([run_gru, run_attention])
        backward = least_seconds(
            [lambda: both(run_gru, gru), lambda: both(run_attention, attention)]
        )
        pairs = zip(forward, backward, strict=True)
        names = ("gru", "attention")
        measured[n] = {name: Measurement(*pair) for name, pair in zip(names, pairs, strict=True)}
    torch.set_num_threads(threads)
    return measured


def over_length_table(measured: dict[int, dict[str, Measurement]], language: str) -> str:
    """Return the measurement as a table, with ratios of the GRU's time to self-attention's."""
    header = {
        "en": ("words", "GRU, ms", "self-attention, ms", "ratio", "ratio with backward pass"),
        "zh": ("词数", "GRU（毫秒）", "自注意力（毫秒）", "比值", "含反向的比值"),
    }[language]
    rows = (
        (
            f"{n:,}",
            _milliseconds(gru.forward),
            _milliseconds(attention.forward),
            f"{gru.forward / attention.forward:.2g}×",
            f"{gru.both / attention.both:.2g}×",
        )
        for n, layers in measured.items()
        for gru, attention in ((layers["gru"], layers["attention"]),)
    )
    text = {
        "en": f"Batch {BATCH}, all sizes {SIZE}, float32, one layer, forward. The ratio is "
        "the GRU's time over self-attention's: below 1, self-attention is the slower one.",
        "zh": f"批次 {BATCH}，所有维度为 {SIZE}，float32，一层，前向。比值是 GRU 的时间"
        "除以自注意力的时间：小于 1，就是自注意力更慢。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table(header, rows)}\n\n{caption}"


def _milliseconds(measured: float) -> str:
    milliseconds = 1000 * measured
    return f"{milliseconds:.2g}" if milliseconds < 100 else f"{milliseconds:,.0f}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows."""
    measured = measure()
    return {"over_length": lambda language: over_length_table(measured, language)}
