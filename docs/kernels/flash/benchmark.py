"""Time and peak memory of attention in tiles, of the explicit form and of PyTorch's kernel."""

import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import flash_attention, scaled_dot_product_attention
from docs._kit.measure import (
    allocated_mebibytes,
    kernel_of,
    least_seconds,
    one_thread,
)
from docs._kit.measured import Measurement, measurement

HEAD_DIM = 64
LENGTHS = (512, 1024, 2048, 4096)
FORMS: dict[str, Callable[..., Tensor]] = {
    "explicit": scaled_dot_product_attention,
    "tiles": flash_attention,
    "torch": F.scaled_dot_product_attention,
}
SECONDS = 25.0
BLOCKS = (32, 128, 256)


def step(
    attend: Callable[..., Tensor], inputs: tuple[Tensor, ...], **options: object
) -> tuple[Tensor, ...]:
    """Return the output and the gradients of query, key and value."""
    output = attend(*inputs, **options)
    return output, *torch.autograd.grad(output, inputs, output)


def draw(length: int) -> tuple[Tensor, ...]:
    """Return query, key and value of one head, which take gradients."""
    return tuple(torch.randn(1, 1, length, HEAD_DIM, requires_grad=True) for _ in range(3))


def of_forms() -> list[dict[str, object]]:
    """Measure forward and backward of the forms at each length."""
    values: list[dict[str, object]] = []
    # the shortest text tells the kernel: to profile a long one, in so many tiles, takes gigabytes
    kernels = {
        name: kernel_of(partial(step, each, draw(LENGTHS[0]))) for name, each in FORMS.items()
    }
    for length in LENGTHS:
        inputs = draw(length)
        calls = {name: partial(step, attend, inputs) for name, attend in FORMS.items()}
        times = least_seconds(list(calls.values()), SECONDS, clock=time.process_time)
        for (name, call), seconds in zip(calls.items(), times, strict=True):
            of = {"form": name, "length": length, "kernel": kernels[name]}
            memory = allocated_mebibytes(call)
            values.append({**of, "quantity": "memory", "value": memory, "unit": "MiB"})
            values.append({**of, "quantity": "time", "value": 1000 * seconds, "unit": "ms"})
    return values


def of_tiles() -> list[dict[str, object]]:
    """Measure what skipping tiles saves, and what larger tiles do, at one length."""
    inputs = draw(LENGTHS[-2])
    full = partial(step, flash_attention, inputs)
    causal = partial(step, flash_attention, inputs, is_causal=True)
    sized = [partial(step, flash_attention, inputs, block_q=b, block_k=b) for b in BLOCKS]
    whole, skipping, *others = least_seconds(
        [full, causal, *sized], SECONDS, clock=time.process_time
    )
    kernel = kernel_of(partial(step, flash_attention, draw(LENGTHS[0])))
    of = {"kernel": kernel, "unit": "ratio"}
    values: list[dict[str, object]] = [{**of, "quantity": "causal", "value": skipping / whole}]
    for block, seconds in zip(BLOCKS, others, strict=True):
        values.append({**of, "quantity": "block", "block": block, "value": seconds / whole})
    return values


def measure() -> dict[str, Measurement]:
    """Measure all of it in float32 on one thread."""
    torch.manual_seed(0)
    with one_thread():
        return {
            "forms": measurement(of_forms(), threads=1),
            "tiles": measurement(of_tiles(), threads=1),
        }
