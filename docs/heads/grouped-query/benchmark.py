"""Grouped-query attention by repeated keys, by queries with one more axis, and PyTorch's own."""

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import (
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
)
from docs._kit.measure import kernel_of, one_thread, paired_ratio, peak_mebibytes
from docs._kit.measured import Measurement, measurement

HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
ROUNDS = 15
# name: queries, keys
CASES = {"one token": (1, 8192), "a text": (384, 384)}


def attend_torch(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend with PyTorch's function, which is told that heads are shared."""
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "repeat": grouped_query_attention_repeat,
    "broadcast": grouped_query_attention_broadcast,
    "torch": attend_torch,
    "multi-head": F.scaled_dot_product_attention,
}


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure all ways on the sizes of one layer of Llama 3 8B, in float32, on one thread."""
    values = []
    with one_thread():
        torch.manual_seed(0)
        for case, (n, m) in CASES.items():
            ways = calls(n, m)
            peaks = {name: peak_mebibytes(call) for name, call in ways.items()}
            for name, call in ways.items():
                told = {"case": case, "queries": n, "keys": m, "way": name}
                ratio, kernel = paired_ratio(call, ways["repeat"], ROUNDS), kernel_of(call)
                for quantity, value, unit in (
                    ("time", ratio, "ratio"),
                    ("memory", peaks[name], "MiB"),
                ):
                    which = {"quantity": quantity, "value": value, "unit": unit, "kernel": kernel}
                    values.append(told | which)
    return {"forms": measurement(values, threads=1)}


def calls(n: int, m: int) -> dict[str, Callable[[], Tensor]]:
    """Return a call of each way, for n queries and m keys."""
    query = torch.randn(1, HEADS, n, HEAD_DIM)
    key, value = torch.randn(2, 1, KV_HEADS, m, HEAD_DIM).unbind()
    shared = (query, key, value)
    # multi-head attention has as many key heads as query heads, and no need to share
    own = (query, *torch.randn(2, 1, HEADS, m, HEAD_DIM).unbind())
    return {
        name: functools.partial(way, *(own if name == "multi-head" else shared))
        for name, way in WAYS.items()
    }
