"""One new token: with a cache, with caches that grow by copying, and computed anew."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import GroupedQueryAttention, KVCache, merge_heads, split_heads
from docs._kit.measure import kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

EMBED_DIM, HEADS, KV_HEADS = 512, 8, 2
BATCH = 4
LENGTHS = (256, 1024, 4096)
ROUNDS = 15
ANEW_ROUNDS = 3

WAYS = ("read", "cached", "concatenated", "repeated", "anew")


class Steps(NamedTuple):
    """What is called for one new token, each way, with all earlier tokens in place."""

    read: Callable[[], Tensor]
    cached: Callable[[], Tensor]
    concatenated: Callable[[], Tensor]
    repeated: Callable[[], Tensor]
    anew: Callable[[], Tensor]


def steps(length: int) -> Steps:
    """Return the ways to attend from one new token, the last of `length`."""
    torch.manual_seed(0)
    attend = GroupedQueryAttention(EMBED_DIM, HEADS, KV_HEADS)
    x = torch.randn(BATCH, length, EMBED_DIM)
    before, new = x[:, :-1], x[:, -1:]
    cache = KVCache(BATCH, KV_HEADS, attend.head_dim, length)
    attend(before, is_causal=True, cache=cache)
    kept = (cache.key[:, :, :-1].clone(), cache.value[:, :, :-1].clone())

    def projected() -> list[Tensor]:
        layers = (attend.q_proj, attend.k_proj, attend.v_proj)
        heads = (HEADS, KV_HEADS, KV_HEADS)
        return [split_heads(p(new), h) for p, h in zip(layers, heads, strict=True)]

    def read() -> Tensor:
        query = new.view(BATCH, HEADS, 1, -1)
        return F.scaled_dot_product_attention(query, cache.key, cache.value, enable_gqa=True)

    def cached() -> Tensor:
        cache.length = length - 1  # the same token each time
        output: Tensor = attend(new, is_causal=True, cache=cache)
        return output

    def concatenated() -> Tensor:
        query, key, value = projected()
        key, value = (torch.cat(pair, dim=2) for pair in zip(kept, (key, value), strict=True))
        heads = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        output: Tensor = attend.out_proj(merge_heads(heads))
        return output

    def repeated() -> Tensor:
        query, key, value = projected()
        key, value = (torch.cat(pair, dim=2) for pair in zip(kept, (key, value), strict=True))
        group = HEADS // KV_HEADS
        key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
        output: Tensor = attend.out_proj(
            merge_heads(F.scaled_dot_product_attention(query, key, value))
        )
        return output

    def anew() -> Tensor:
        output: Tensor = attend(x, is_causal=True)
        return output[:, -1:]

    return Steps(read, cached, concatenated, repeated, anew)


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure on one thread; each time over that of the cache of the shortest text."""
    values = []
    with one_thread():
        first = steps(LENGTHS[0]).cached
        for length in LENGTHS:
            ways = steps(length)
            growth = paired_ratio(ways.cached, first, ROUNDS) if length != LENGTHS[0] else 1.0
            for name, way in ways._asdict().items():
                rounds = ANEW_ROUNDS if name == "anew" else ROUNDS
                ratio = 1.0 if name == "cached" else paired_ratio(way, ways.cached, rounds)
                of = {"way": name, "words": length, "kernel": kernel_of(way)}
                values.append({**of, "quantity": "time", "value": growth * ratio, "unit": "ratio"})
    return {"per_word": measurement(values, threads=1)}
