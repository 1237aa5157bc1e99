"""What a step of decoding takes with fewer and fewer KV heads."""

from collections.abc import Callable

import torch

from attn_docs import GroupedQueryAttention, KVCache, grouped_query_attention_broadcast
from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

EMBED_DIM, HEADS, HEAD_DIM = 1024, 16, 64
KV_HEADS = (16, 8, 4, 2, 1)
LENGTH = 16384
BUDGET = 40.0  # seconds


def cache_bytes(kv_heads: int) -> int:
    """Return the bytes of keys and values that one step of the layer reads, in float32."""
    return 2 * kv_heads * HEAD_DIM * LENGTH * 4


def step(kv_heads: int) -> Callable[[], object]:
    """Return a call that decodes the last of `LENGTH` positions, again and again."""
    layer = GroupedQueryAttention(
        EMBED_DIM, HEADS, kv_heads, bias=False, attend=grouped_query_attention_broadcast
    ).eval()
    x, cache = torch.randn(1, 1, EMBED_DIM), KVCache(1, kv_heads, HEAD_DIM, LENGTH)
    cache.key.normal_()
    cache.value.normal_()

    def call() -> object:
        cache.length = LENGTH - 1
        return layer(x, is_causal=True, cache=cache)

    return call


@torch.no_grad()
def measure_steps() -> Measurement:
    """Measure the layer's step with each number of KV heads; each keeps its least time."""
    torch.manual_seed(0)
    calls = [step(kv_heads) for kv_heads in KV_HEADS]
    for call in calls:
        call()
    values = [
        {"quantity": "step", "kv_heads": kv_heads, "value": 1000 * spent, "unit": "ms"}
        | {"kernel": kernel_of(call)}
        for kv_heads, spent, call in zip(KV_HEADS, least_seconds(calls, BUDGET), calls, strict=True)
    ]
    return measurement(values, threads=1)


def measure() -> dict[str, Measurement]:
    """Measure the steps on one thread."""
    with one_thread():
        return {"steps": measure_steps()}
