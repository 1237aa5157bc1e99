"""What falling back costs: time and memory of MATH beside those of the fused kernel."""

import functools
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from docs._kit.measure import allocated_mebibytes, kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

HEADS, HEAD_DIM = 8, 64
LENGTHS = (128, 256, 512, 1024, 2048)
LONGEST = LENGTHS[-1]
SHAPES = {"n m": (1, 1), "b h n m": (1, HEADS)}  # of a boolean mask, before queries and keys
SECONDS = 8.0  # for the calls that are compared, in turns; the least time of each counts

Attend = Callable[..., Tensor]


def math(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attend by the fallback."""
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(query, key, value, mask)


WAYS: dict[str, Attend] = {"fused": F.scaled_dot_product_attention, "math": math}


def forward(attend: Attend, tensors: tuple[Tensor, ...]) -> Tensor:
    """Attend without a gradient."""
    with torch.no_grad():
        return attend(*tensors)


def training(attend: Attend, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Attend, and return the gradients of queries, keys and values."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    return torch.autograd.grad(attend(*leaves).sum(), leaves)


PASSES: dict[str, Callable[..., object]] = {"forward": forward, "training": training}


def measure() -> dict[str, Measurement]:
    """Measure both kernels over the length, and what a boolean mask costs."""
    with one_thread():
        torch.manual_seed(0)
        lengths = [value for length in LENGTHS for value in both(length)]
        return {
            "lengths": measurement(lengths, threads=1),
            "boolean": measurement(boolean(LONGEST), threads=1),
        }


def ratios(calls: Mapping[str, Callable[[], object]], base: str) -> dict[str, float]:
    """Return the least time of each call over that of one of them."""
    least = dict(zip(calls, least_seconds(list(calls.values()), SECONDS), strict=True))
    return {name: round(seconds / least[base], 2) for name, seconds in least.items()}


def sizes_of(length: int) -> dict[str, float]:
    """Return the memory of each kernel's forward pass, in MiB."""
    tensors = torch.randn(3, 1, HEADS, length, HEAD_DIM).unbind()
    return {
        way: allocated_mebibytes(functools.partial(forward, attend, tensors))
        for way, attend in WAYS.items()
    }


def both(length: int) -> list[dict[str, object]]:
    """Return time and memory of both kernels for as many queries as keys."""
    tensors = torch.randn(3, 1, HEADS, length, HEAD_DIM).unbind()
    values: list[dict[str, object]] = []
    for name, run in PASSES.items():
        calls = {way: functools.partial(run, attend, tensors) for way, attend in WAYS.items()}
        for way, ratio in ratios(calls, "fused").items():
            told = {"pass": name, "length": length, "way": way, "kernel": kernel_of(calls[way])}
            values.append({**told, "quantity": "time", "value": ratio, "unit": "ratio"})
            size = round(allocated_mebibytes(calls[way]), 2)
            values.append({**told, "quantity": "memory", "value": size, "unit": "MiB"})
    return values


def boolean(length: int) -> list[dict[str, object]]:
    """Return the memory of both kernels' forward pass with a boolean mask, by its shape."""
    tensors = torch.randn(3, 1, HEADS, length, HEAD_DIM).unbind()
    values: list[dict[str, object]] = []
    for shape, lead in SHAPES.items():
        mask = torch.ones(*lead, length, length, dtype=torch.bool)
        for way, attend in WAYS.items():
            call = functools.partial(forward, attend, (*tensors, mask))
            told = {"way": way, "mask": shape, "kernel": kernel_of(call)}
            size = round(allocated_mebibytes(call), 2)
            values.append({**told, "quantity": "memory", "value": size, "unit": "MiB"})
    return values
