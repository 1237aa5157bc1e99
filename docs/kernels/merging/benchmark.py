"""Time of decoding one token by PyTorch's kernel, the keys whole and in splits, on threads."""

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attn_docs import merge_attention
from docs._kit.measure import kernel_of
from docs._kit.measured import Measurement, measurement

HEAD_DIM = 128
LENGTHS = (8192, 32_768, 131_072)
PARTS = (2, 4)
THREADS = (1, 2)
SECONDS = 20.0  # for each length; the least time of each call counts


def kernel(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and log-sum-exp of PyTorch's kernel, which spreads heads over threads."""
    name = "_scaled_dot_product_flash_attention_for_cpu"
    output, lse = getattr(torch.ops.aten, name)(query, key, value)
    return output, lse


def decode(query: Tensor, key: Tensor, value: Tensor, parts: int) -> Tensor:
    """Attend with one query of one head to parts of the keys, as the chapter's example does."""
    if parts == 1:
        return kernel(query, key, value)[0]
    key, value = (x.unflatten(-2, (parts, -1)).squeeze(1) for x in (key, value))
    outputs, lses = kernel(query.expand(-1, parts, -1, -1), key, value)
    return merge_attention(outputs.unbind(1), lses.unbind(1))[0].unsqueeze(1)


def least_seconds(
    calls: dict[tuple[int, int], Callable[[], object]],
) -> dict[tuple[int, int], float]:
    """Return the least time of each call, on its number of threads; they take turns."""
    least, end = dict.fromkeys(calls, float("inf")), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for (threads, parts), call in calls.items():
            torch.set_num_threads(threads)
            for _ in range(3):
                start = time.perf_counter()
                call()
                least[threads, parts] = min(least[threads, parts], time.perf_counter() - start)
    return least


def of_length(length: int) -> list[dict[str, object]]:
    """Measure each number of parts on each number of threads, beside one part on one thread."""
    query, *rest = (torch.randn(1, 1, rows, HEAD_DIM) for rows in (1, length, length))
    whole = partial(decode, query, *rest, 1)
    calls = {(t, p): partial(decode, query, *rest, p) for t in THREADS for p in (1, *PARTS)}
    least = least_seconds(calls)
    of = {"kernel": kernel_of(whole), "length": length}
    values: list[dict[str, object]] = [
        {**of, "quantity": "base", "value": round(1000 * least[1, 1], 2), "unit": "ms"}
    ]
    for (threads, parts), seconds in least.items():
        told = {"on": threads, "parts": parts, "value": round(seconds / least[1, 1], 2)}
        values.append({**of, **told, "quantity": "time", "unit": "ratio"})
    return values


def measure() -> dict[str, Measurement]:
    """Measure all lengths, without gradients, in float32."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    try:
        with torch.no_grad():
            values = [value for length in LENGTHS for value in of_length(length)]
    finally:
        torch.set_num_threads(threads)
    return {"splits": measurement(values, threads=max(THREADS))}
