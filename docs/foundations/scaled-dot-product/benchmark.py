"""The explicit formula against PyTorch's function, and dot product against additive scores."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import AdditiveAttention, scaled_dot_product_attention
from docs._kit.markdown import table
from docs._kit.measure import circumstances, peak_mebibytes, seconds

BATCH, LENGTH, SIZE = 4, 512, 64


class Measurement(NamedTuple):
    """Time in seconds and peak memory in MiB of one call."""

    seconds: float
    mebibytes: float


def measure_additive() -> dict[str, Measurement]:
    """Measure the three ways to attend on the same input."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(BATCH, LENGTH, SIZE) for _ in range(3))
    additive = AdditiveAttention(SIZE, SIZE, SIZE).eval().requires_grad_(False)
    ways: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
        "additive": additive,
        "dot": scaled_dot_product_attention,
        "pytorch": F.scaled_dot_product_attention,
    }
    calls = {name: (lambda way=way: way(query, key, value)) for name, way in ways.items()}
    return {name: Measurement(seconds(call), peak_mebibytes(call)) for name, call in calls.items()}


def additive_table(measured: dict[str, Measurement], language: str) -> str:
    """Return the measurement as a table, times as ratios to the dot product's."""
    names = {
        "en": {
            "additive": "additive, one hidden layer",
            "dot": "scaled dot product, our explicit formula",
            "pytorch": "scaled dot product, PyTorch's function",
        },
        "zh": {
            "additive": "加性打分（一个隐藏层）",
            "dot": "缩放点积（本站的显式公式）",
            "pytorch": "缩放点积（PyTorch 的函数）",
        },
    }[language]
    header = {
        "en": ("score", "time, relative", "peak memory"),
        "zh": ("打分方式", "相对时间", "峰值内存"),
    }[language]
    rows = (
        (name, f"{measured[way].seconds / measured['dot'].seconds:.2g}×", f"{m:,.0f} MiB")
        for way, name in names.items()
        for m in (measured[way].mebibytes,)
    )
    sizes = {
        "en": f"Batch {BATCH}, $n = m = {LENGTH}$, all sizes {SIZE}, float32, forward only.",
        "zh": f"批次 {BATCH}，$n = m = {LENGTH}$，所有维度为 {SIZE}，float32，仅前向。",
    }[language]
    space = " " if language == "en" else ""
    return f"{table(header, rows)}\n\n{sizes}{space}{circumstances(language)}\n{{ .measured }}"


def explicit_against_pytorch() -> str:
    """Return how much longer the explicit formula takes than PyTorch's function."""
    rows = []
    for n in (64, 256, 1024):
        inputs = [torch.randn(2, 8, n, 64, requires_grad=True) for _ in range(3)]

        def forward(attend: Callable[..., Tensor], inputs: list[Tensor] = inputs) -> Tensor:
            return attend(*inputs)

        def both(attend: Callable[..., Tensor], inputs: list[Tensor] = inputs) -> object:
            return torch.autograd.grad(attend(*inputs).sum(), inputs)

        ratios = [
            seconds(lambda run=run: run(scaled_dot_product_attention))
            / seconds(lambda run=run: run(F.scaled_dot_product_attention))
            for run in (forward, both)
        ]
        rows.append((str(n), *(f"{ratio:.2f}×" for ratio in ratios)))
    return table(("length", "forward", "forward and backward"), rows)


def main() -> dict[str, Callable[[str], str]]:
    """Print the comparisons and return the tables that the chapter shows."""
    print("Explicit formula against PyTorch's function, batch 2, 8 heads of 64, float32:")
    print(explicit_against_pytorch())
    measured = measure_additive()
    return {"additive": lambda language: additive_table(measured, language)}
