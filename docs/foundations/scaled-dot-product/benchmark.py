"""The explicit formula against PyTorch's function, and dot product against additive scores."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import AdditiveAttention, scaled_dot_product_attention
from docs._kit.markdown import table
from docs._kit.measure import THREADS, kernel_of, peak_mebibytes, seconds
from docs._kit.measured import Measurement, measurement

BATCH, LENGTH, SIZE = 4, 512, 64


def calls() -> dict[str, Callable[[], Tensor]]:
    """Return what is timed: three ways to attend, on the same input."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(BATCH, LENGTH, SIZE) for _ in range(3))
    additive = AdditiveAttention(SIZE, SIZE, SIZE).eval().requires_grad_(False)
    ways: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
        "additive": additive,
        "dot": scaled_dot_product_attention,
        "pytorch": F.scaled_dot_product_attention,
    }
    return {name: (lambda way=way: way(query, key, value)) for name, way in ways.items()}


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


def measure() -> dict[str, Measurement]:
    """Print the first comparison; measure the second, times as ratios to the dot product's."""
    print("Explicit formula against PyTorch's function, batch 2, 8 heads of 64, float32:")
    print(explicit_against_pytorch())
    ways = calls()
    spent = {way: seconds(call) for way, call in ways.items()}
    values = []
    for way, call in ways.items():
        setting = {"batch": BATCH, "length": LENGTH, "size": SIZE, "way": way}
        time = {"quantity": "time", "value": spent[way] / spent["dot"], "unit": "ratio"}
        memory = {"quantity": "peak memory", "value": peak_mebibytes(call), "unit": "MiB"}
        kernel = {"kernel": kernel_of(call)}
        values += [setting | time | kernel, setting | memory | kernel]
    return {"additive": measurement(values, threads=THREADS)}
