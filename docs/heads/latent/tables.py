"""What latent attention costs: parameters, kept numbers, FLOPs of its two forms, their time."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from attn_docs import KVConfig, kv_cache_bytes
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark


class Sizes(NamedTuple):
    """Sizes of a layer of latent attention."""

    embed_dim: int
    num_heads: int
    kv_rank: int
    q_rank: int
    head_dim: int
    rope_dim: int
    value_dim: int


V3 = Sizes(7168, 128, 512, 1536, 128, 64, 128)  # DeepSeek-V3
LAYERS, V2_LAYERS = 61, 60  # of DeepSeek-V3 and DeepSeek-V2
LENGTH, CHUNK = 8192, 512
KV_HEADS = {"multi-head": 128, "grouped": 8, "multi-query": 1}


def kept(sizes: Sizes = V3) -> int:
    """Count the numbers that a layer keeps of a position."""
    return sizes.kv_rank + sizes.rope_dim


def unpacked(sizes: Sizes = V3) -> int:
    """Count the numbers of a position's unpacked keys and values."""
    return sizes.num_heads * (sizes.head_dim + sizes.rope_dim + sizes.value_dim)


def flops(sizes: Sizes, n: int, m: int, *, absorb: bool) -> int:
    """Count the FLOPs between kv_a_proj and out_proj, for n queries and m positions."""
    _, h, c, _, d, r, e = sizes
    up = c * (d + e)  # kv_b_proj, for one vector
    if absorb:
        return 2 * h * (n * up + n * m * (c + r) + n * m * c)
    return 2 * h * (m * up + n * m * (d + r) + n * m * e)


def projection_flops(sizes: Sizes, n: int) -> int:
    """Count the FLOPs of the other projections, for n vectors."""
    embed, h, c, q, d, r, e = sizes
    return 2 * n * (embed * q + q * h * (d + r) + embed * (c + r) + h * e * embed)


def grouped_flops(kv_heads: int, n: int, m: int, sizes: Sizes = V3) -> int:
    """Count the FLOPs of keys, values, scores and mixing with heads of `head_dim`."""
    d = sizes.head_dim
    return 2 * n * sizes.embed_dim * 2 * kv_heads * d + 4 * sizes.num_heads * n * m * d


def parameters(sizes: Sizes = V3) -> int:
    """Count the weights of a layer."""
    embed, h, c, q, d, r, e = sizes
    queries = embed * q + q + q * h * (d + r)
    return queries + embed * (c + r) + c + c * h * (d + e) + h * e * embed


def grouped_parameters(kv_heads: int, sizes: Sizes = V3) -> int:
    """Count the weights of a layer of grouped-query attention with the same heads."""
    return 2 * sizes.embed_dim * (sizes.num_heads + kv_heads) * sizes.head_dim


def grouped_cache(kv_heads: int) -> KVConfig:
    """Return what a layer of grouped-query attention with the same heads keeps."""
    return KVConfig(full_layers=1, num_kv_heads=kv_heads, head_dim=V3.head_dim)


def latent_cache(layers: int = 1) -> KVConfig:
    """Return what layers of latent attention keep."""
    return KVConfig(latent_layers=layers, kv_rank=V3.kv_rank, rope_dim=V3.rope_dim)


def kinds() -> Iterator[tuple[str, int, KVConfig, int]]:
    """Yield each kind of attention: weights, what a layer keeps, FLOPs of one new word."""
    for name, kv_heads in KV_HEADS.items():
        work = grouped_flops(kv_heads, 1, LENGTH)
        yield name, grouped_parameters(kv_heads), grouped_cache(kv_heads), work
    down = 2 * V3.embed_dim * kept()  # kv_a_proj
    for name in ("absorbed", "naive"):
        work = down + flops(V3, 1, LENGTH, absorb=name == "absorbed")
        yield name, parameters(), latent_cache(), work


def cost(language: str) -> str:
    """Return parameters, kept numbers and FLOPs of the four kinds of attention."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            text[name],
            f"{weights / 1e6:,.1f} M",
            f"{cache.growing:,}",
            f"{kv_cache_bytes(cache, 1):,} B",
            f"{work / 1e9:,.2f} G",
        )
        for name, weights, cache, work in kinds()
    )
    caption = text["caption"].format(
        embed=V3.embed_dim, h=V3.num_heads, d=V3.head_dim, before=LENGTH - 1
    )
    return f"{table(text['header'], rows)}\n\n{caption}"


CASES = {"word": (1, LENGTH), "chunk": (CHUNK, LENGTH), "text": (LENGTH, LENGTH)}


def forms(language: str) -> str:
    """Return the FLOPs of both forms for one word, a chunk, a whole text."""
    text = texts(__file__, "form_flops", language)
    rows = []
    for n, m in CASES.values():
        naive, absorbed = (flops(V3, n, m, absorb=absorb) for absorb in (False, True))
        rows.append(
            (
                f"{n:,}",
                f"{m:,}",
                f"{naive / 1e9:,.1f} G",
                f"{absorbed / 1e9:,.1f} G",
                f"{naive / absorbed:.2f}×",
            )
        )
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def cached(context: int) -> dict[str, float]:
    """Return the MiB that each measured way keeps of `context` words, in float32."""
    sizes = benchmark.SIZES
    latent = KVConfig(latent_layers=1, kv_rank=sizes["kv_rank"], rope_dim=sizes["rope_dim"])
    # a key of d + r numbers and a value of e: two of their mean
    mean = (sizes["head_dim"] + sizes["rope_dim"] + sizes["value_dim"]) // 2
    full = KVConfig(full_layers=1, num_kv_heads=sizes["num_heads"], head_dim=mean)
    return {
        way: kv_cache_bytes(full if way == "unpacked" else latent, context, dtype=torch.float32)
        / 2**20
        for way in benchmark.WAYS
    }


def decode(language: str) -> str:
    """Return the time of a new word, as it was measured, and what is kept of the context."""
    text, ways = (texts(__file__, group, language) for group in ("decode", "ways"))
    measured, sizes = load(__file__)["decode"], benchmark.SIZES
    header = (
        text["context"],
        *(text["time"].format(way=ways[way]) for way in benchmark.WAYS),
        text["entries"],
        text["unpacked"],
    )
    rows = (
        (
            f"{context:,}",
            *(f"{measured('time', way=way, context=context):.2f}×" for way in benchmark.WAYS),
            *(f"{cached(context)[way]:,.1f} MiB" for way in ("absorbed", "unpacked")),
        )
        for context in benchmark.CONTEXTS
    )
    caption = text["caption"].format(**sizes, first=benchmark.CONTEXTS[0])
    return f"{table(header, rows)}\n\n{measured.caption(caption, language)}"


TABLES = {"cost": cost, "forms": forms, "decode": decode}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    multi_head = 2 * V3.num_heads * V3.head_dim
    per_query = 2 * V3.kv_rank + V3.rope_dim - V3.head_dim - V3.rope_dim - V3.value_dim
    even = V3.kv_rank * (V3.head_dim + V3.value_dim) / per_query
    one = {absorb: flops(V3, 1, LENGTH, absorb=absorb) for absorb in (False, True)}
    return {
        "length": f"{LENGTH:,}",
        "embed_dim": f"{V3.embed_dim:,}",
        "kept": str(kept()),
        "layer_bytes": f"{kv_cache_bytes(latent_cache(), 1):,}",
        "token_bytes": f"{kv_cache_bytes(latent_cache(LAYERS), 1):,}",
        "v2_token_bytes": f"{kv_cache_bytes(latent_cache(V2_LAYERS), 1):,}",
        "groups": f"{kept() / (2 * V3.head_dim):.2f}",
        "unpacked": f"{unpacked():,}",
        "multi_head": f"{multi_head:,}",
        "times_unpacked": f"{unpacked() / kept():.0f}",
        "times_multi_head": f"{multi_head / kept():.0f}",
        "times_word": f"{one[False] / one[True]:.0f}",
        "even": f"{even:.0f}",
        "gpu_copies": f"{2 * V3.num_heads * kv_cache_bytes(latent_cache(), LENGTH) / 2**30:.2g} GiB",
        "gpu_naive": f"{2 * unpacked() * LENGTH / 2**30:.2g} GiB",
        "gpu_cache": f"{kv_cache_bytes(latent_cache(), LENGTH) / 2**20:.0f} MiB",
        "query_direct": f"{V3.embed_dim * V3.num_heads * (V3.head_dim + V3.rope_dim) / 1e6:,.0f} M",
        "query_compressed": f"{V3.q_rank * (V3.embed_dim + V3.num_heads * 192) / 1e6:,.0f} M",
        "fused": f"{V3.head_dim * V3.kv_rank / 1e3:,.0f} K",
        "direct": f"{V3.num_heads * V3.kv_rank * V3.embed_dim / 1e6:,.0f} M",
    }
