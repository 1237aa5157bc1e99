"""Dot product against additive scores, PyTorch's function, and what learning does without √d."""

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
STEPS = 60
# head size, whether scores are divided by √d, learning rate
RUNS = ((8, False, 1.0), (512, False, 1.0), (512, True, 1.0), (512, False, 0.3))
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
    """Return the losses of the page's example, step by step."""
    train = runpy.run_path(str(EXAMPLE))["train"]
    setting = {"quantity": "loss", "unit": "nat", "kernel": "aten::bmm"}
    values = [
        setting | {"d": d, "scaled": scaled, "rate": rate, "step": step, "value": round(loss, 4)}
        for d, scaled, rate in RUNS
        for step, loss in enumerate(train(d, d**-0.5 if scaled else 1.0, rate, STEPS + 1))
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
