"""One step of decoding with each attention, against the bytes it reads and this machine's rates."""

import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import (
    DecodeCost,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadLatentAttention,
    decode_cost,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    latent_decode_cost,
)
from docs._kit.measure import kernel_of, least_seconds, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

EMBED_DIM, HEADS, HEAD_DIM = 1024, 16, 64
KV_RANK, ROPE_DIM = 128, 32
LENGTHS = (2048, 8192, 32768)
NAMES = ("multi-head", "grouped-query", "multi-query", "latent", "torch", "repeat")
KV_HEADS = {"multi-head": 16, "grouped-query": 4, "multi-query": 1, "torch": 4, "repeat": 4}
# all read a shared key once for the query heads that share it, but these two
ATTEND: dict[str, Callable[..., Tensor]] = {
    "torch": F.scaled_dot_product_attention,
    "repeat": grouped_query_attention_repeat,
}
ROUNDS = 7
ROWS = (1, 4, 16, 64, 256, 1024)
WIDE = (4096, 8192)  # 128 MiB of weights in float32, more than the processor's caches hold


def cost(name: str, length: int) -> DecodeCost:
    """Return what the attention of one step computes and reads."""
    if name == "latent":
        return latent_decode_cost(
            length, num_heads=HEADS, kv_rank=KV_RANK, rope_dim=ROPE_DIM, bytes_per_number=4
        )
    return decode_cost(
        length,
        num_heads=HEADS,
        num_kv_heads=KV_HEADS[name],
        head_dim=HEAD_DIM,
        bytes_per_number=4,
    )


def build(name: str) -> nn.Module:
    """Return the module of an attention."""
    attend = ATTEND.get(name, grouped_query_attention_broadcast)
    if name == "latent":
        return MultiHeadLatentAttention(
            EMBED_DIM,
            HEADS,
            kv_rank=KV_RANK,
            head_dim=HEAD_DIM,
            rope_dim=ROPE_DIM,
            value_dim=HEAD_DIM,
            attend=attend,
        ).eval()
    return GroupedQueryAttention(EMBED_DIM, HEADS, KV_HEADS[name], bias=False, attend=attend).eval()


def step(name: str, length: int) -> Callable[[], object]:
    """Return a call that decodes the last of `length` positions, again and again."""
    module, x = build(name), torch.randn(1, 1, EMBED_DIM)
    cache: KVCache | LatentCache
    if name == "latent":
        cache = LatentCache(1, KV_RANK, ROPE_DIM, length)
        cache.entries.normal_()
    else:
        cache = KVCache(1, KV_HEADS[name], HEAD_DIM, length)
        cache.key.normal_()
        cache.value.normal_()

    def call() -> object:
        cache.length = length - 1
        return module(x, is_causal=True, cache=cache)

    return call


def shortest(call: Callable[[], object]) -> float:
    """Return the shortest of some times: what a busy machine adds is left out."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_machine() -> Measurement:
    """Measure how fast one thread multiplies matrices and reads memory."""
    square = torch.randn(1024, 1024)
    read = torch.randn(64 * 2**20)  # 256 MiB, far more than the caches of a processor hold
    calls = {"computes": lambda: square @ square, "reads": read.sum}
    work, units = {"computes": 2 * 1024**3, "reads": read.nbytes}, ("GFLOP/s", "GB/s")
    return measurement(
        [
            {
                "quantity": name,
                "value": work[name] / shortest(call) / 1e9,
                "unit": unit,
                "kernel": kernel_of(call),
            }
            for (name, call), unit in zip(calls.items(), units, strict=True)
        ],
        threads=1,
    )


def rows_cost(rows: int) -> DecodeCost:
    """Return what the product of some rows with the wide matrix computes, and what it reads."""
    weights = WIDE[0] * WIDE[1]
    return DecodeCost(2 * rows * weights, 4 * (weights + rows * WIDE[0]))


def measure_rows(budget: float = 60.0) -> Measurement:
    """Measure the product of more and more rows with a wide matrix, and the machine's rates.

    All take turns for so many seconds, and each keeps its least time.
    """
    weight, read = torch.randn(WIDE[1], WIDE[0]), torch.randn(64 * 2**20)
    square = torch.randn(1024, 1024)
    calls: list[Callable[[], object]] = [lambda: square @ square, read.sum]
    calls += [partial(F.linear, torch.randn(rows, WIDE[0]), weight) for rows in ROWS]
    work = [2 * 1024**3, read.nbytes, *(rows_cost(rows).flops for rows in ROWS)]
    of = [{"quantity": "computes"}, {"quantity": "reads"}]
    of += [{"quantity": "product", "rows": rows} for rows in ROWS]
    units = ["GFLOP/s", "GB/s", *["GFLOP/s"] * len(ROWS)]
    values = [
        {**what, "value": done / spent / 1e9, "unit": unit, "kernel": kernel_of(call)}
        for what, done, spent, unit, call in zip(
            of, work, least_seconds(calls, budget), units, calls, strict=True
        )
    ]
    return measurement(values, threads=1)


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure the machine and all attentions, in float32, on one thread."""
    torch.manual_seed(0)
    values = []
    with one_thread():
        machine, rows = measure_machine(), measure_rows()
        for length in LENGTHS:
            calls = {name: step(name, length) for name in NAMES}
            for name, call in calls.items():
                of = {"attention": name, "words": length, "kernel": kernel_of(call)}
                ratio = paired_ratio(call, calls["multi-head"], ROUNDS)
                values.append({**of, "quantity": "time", "value": ratio, "unit": "ratio"})
                if length == LENGTHS[-1]:
                    spent = 1000 * shortest(call)
                    values.append({**of, "quantity": "step", "value": spent, "unit": "ms"})
    return {"machine": machine, "rows": rows, "steps": measurement(values, threads=1)}
