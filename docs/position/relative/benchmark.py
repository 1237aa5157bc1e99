"""Time and peak memory of attention with a bias: none, ALiBi's, and a table that learns."""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import alibi_bias, causal_mask
from docs._kit.measure import allocated_mebibytes, kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

HEADS, HEAD_DIM, LENGTH = 8, 64, 1024
WAYS = ("causal", "alibi", "learned")
SECONDS = 20.0


def attend(way: str, inputs: tuple[Tensor, ...], *, backward: bool) -> Callable[[], object]:
    """Return a call of PyTorch's function whose bias, if any, was made before."""
    hidden = ~causal_mask(LENGTH, LENGTH)
    options: dict[str, object] = {"is_causal": True}
    leaves = inputs
    if way != "causal":
        bias = alibi_bias(HEADS, LENGTH)
        if way == "learned":
            bias.requires_grad_()
            leaves = (*inputs, bias)
        options = {"attn_mask": bias.masked_fill(hidden, -torch.inf)}

    def call() -> object:
        if not backward:
            with torch.no_grad():
                return F.scaled_dot_product_attention(*inputs, **options)
        output = F.scaled_dot_product_attention(*inputs, **options)
        return torch.autograd.grad(output, leaves, output, retain_graph=True)

    return call


def of_ways() -> list[dict[str, object]]:
    """Measure forward, and forward with backward."""
    values: list[dict[str, object]] = []
    inputs = tuple(torch.randn(1, HEADS, LENGTH, HEAD_DIM, requires_grad=True) for _ in range(3))
    for backward in (False, True):
        calls = [attend(way, inputs, backward=backward) for way in WAYS]
        times = least_seconds(calls, SECONDS, clock=time.process_time)
        for way, call, seconds in zip(WAYS, calls, times, strict=True):
            of = {"way": way, "backward": backward, "kernel": kernel_of(call)}
            memory = allocated_mebibytes(call)
            values.append({**of, "quantity": "memory", "value": memory, "unit": "MiB"})
            values.append({**of, "quantity": "time", "value": 1000 * seconds, "unit": "ms"})
    return values


def measure() -> dict[str, Measurement]:
    """Measure all of it in float32 on one thread."""
    torch.manual_seed(0)
    with one_thread():
        return {"ways": measurement(of_ways(), threads=1)}
