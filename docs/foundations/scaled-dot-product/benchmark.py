"""Dot product against additive scores, PyTorch's function, and what learning does without √d."""

import itertools
import runpy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import AdditiveAttention, scaled_dot_product_attention
from docs._kit.measure import allocated_mebibytes, kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement
from docs._tools.blocks import ROOT

EXAMPLE = ROOT / "attn_docs/examples/foundations/scaled_dot_product/learns.py"
STEPS = 30
SIZES = (8, 64, 512)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
LARGEST = 1000.0  # a loss above it, or NaN, is kept as this: the run diverged
BATCH, LENGTH, SIZE = 4, 512, 64
# What the page says of a way holds for this kernel only.
KERNELS = {
    "additive": "aten::tanh",
    "dot": "aten::bmm",
    "pytorch-3-axes": "aten::_scaled_dot_product_attention_math",
    "pytorch": "aten::_scaled_dot_product_flash_attention_for_cpu",
}


def calls(length: int = LENGTH) -> dict[str, Callable[[], Tensor]]:
    """Return what is timed: ways to attend, on the same numbers."""
    torch.manual_seed(0)
    inputs = [torch.randn(BATCH, length, SIZE) for _ in range(3)]
    additive = AdditiveAttention(SIZE, SIZE, SIZE).eval().requires_grad_(False)
    # PyTorch has its fused kernels for four axes: here with an axis for one head
    heads = [x.unsqueeze(1) for x in inputs]
    return {
        "additive": lambda: additive(*inputs),
        "dot": lambda: scaled_dot_product_attention(*heads),
        "pytorch-3-axes": lambda: F.scaled_dot_product_attention(*inputs),
        "pytorch": lambda: F.scaled_dot_product_attention(*heads),
    }


def learning() -> Measurement:
    """Return the losses of the page's example, before the first steps and after the last."""
    train = runpy.run_path(str(EXAMPLE), run_name="measured")["train"]
    values = []
    for d, scaled, rate in itertools.product(SIZES, (False, True), RATES):
        losses = train(d, d**-0.5 if scaled else 1.0, rate, STEPS)
        setting = {"quantity": "loss", "unit": "nat", "kernel": "aten::bmm"}
        setting |= {"d": d, "scaled": scaled, "rate": rate}
        values += [
            setting | {"step": step, "value": round(losses[step], 4) if fine else LARGEST}
            for step in (0, 1, 2, STEPS)
            for fine in (losses[step] < LARGEST,)
        ]
    return measurement(values, threads=1)


def measure() -> dict[str, Measurement]:
    """Measure all ways, times as ratios to that of the explicit dot product."""
    values = []
    with one_thread():
        ways = calls()
        for way, call in ways.items():
            kernel = kernel_of(call)
            if kernel != KERNELS[way]:
                raise RuntimeError(f"{way} must run {KERNELS[way]}; got {kernel}")
            ratio = 1.0 if way == "dot" else paired_ratio(call, ways["dot"])
            setting = {"batch": BATCH, "length": LENGTH, "size": SIZE, "way": way, "kernel": kernel}
            memory = allocated_mebibytes(call)
            values += [
                setting | {"quantity": "time", "value": ratio, "unit": "ratio"},
                setting | {"quantity": "peak memory", "value": memory, "unit": "MiB"},
            ]
        learned = learning()
    return {"additive": measurement(values, threads=1), "learning": learned}
