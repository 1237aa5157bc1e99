"""What latent attention costs: FLOPs of its two forms, what each makes, their measured time."""

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
LAYERS = 61  # of DeepSeek-V3
LENGTH, CHUNK = 8192, 512


def cached_elements(sizes: Sizes = V3) -> int:
    """Count the elements that a layer caches for a token."""
    return sizes.kv_rank + sizes.rope_dim


def projected_up(sizes: Sizes = V3) -> int:
    """Return the elements of keys and values that W_UK and W_UV make for a token, all heads."""
    return sizes.num_heads * (sizes.head_dim + sizes.value_dim)


def keys_and_values(sizes: Sizes = V3) -> int:
    """Count the elements of a token's keys and values in all heads."""
    return sizes.num_heads * (sizes.head_dim + sizes.rope_dim + sizes.value_dim)


def made(sizes: Sizes, n: int, m: int, *, absorb: bool) -> int:
    """Count the elements that a form writes besides the result, for n queries and m tokens."""
    if absorb:
        return n * sizes.num_heads * (cached_elements(sizes) + sizes.kv_rank)  # queries, mixtures
    return m * keys_and_values(sizes)


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


def latent_cache(layers: int = 1) -> KVConfig:
    """Return what layers of latent attention cache."""
    return KVConfig(latent_layers=layers, kv_rank=V3.kv_rank, rope_dim=V3.rope_dim)


CASES = {"word": (1, LENGTH), "chunk": (CHUNK, LENGTH), "text": (LENGTH, LENGTH)}


def forms(language: str) -> str:
    """Return FLOPs, and what is made, of both forms for one token, a chunk, a whole text."""
    text = texts(__file__, "form_flops", language)
    rows = []
    for n, m in CASES.values():
        work = [f"{flops(V3, n, m, absorb=absorb) / 1e9:,.1f} G" for absorb in (False, True)]
        room = [binary(2 * made(V3, n, m, absorb=absorb)) for absorb in (False, True)]
        rows.append((f"{n:,}", f"{m:,}", *work, *room))
    caption = text["caption"].format(cache=binary(kv_cache_bytes(latent_cache(), LENGTH)))
    return f"{table(text['header'], rows)}\n\n{caption}"


def binary(count: int) -> str:
    """Return bytes in KiB, MiB or GiB, to three digits."""
    power, unit = next(pair for pair in ((30, "GiB"), (20, "MiB"), (10, "KiB")) if count >> pair[0])
    return f"{count / 2**power:.3g} {unit}"


def fewer_products() -> float:
    """Return what cached keys and values save of the products with a token, at measured sizes."""
    c, r, d, e = (benchmark.SIZES[k] for k in ("kv_rank", "rope_dim", "head_dim", "value_dim"))
    return (c + r + c) / (d + r + e)


def cached(context: int) -> dict[str, float]:
    """Return the MiB that each measured way caches of `context` tokens, in float32."""
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
    """Return the time of a new token, as it was measured, and what is cached of the context."""
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


TABLES = {"forms": forms, "decode": decode}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    multi_head = 2 * V3.num_heads * V3.head_dim
    eight = 2 * 8 * V3.head_dim
    cached_bytes = kv_cache_bytes(latent_cache(), LENGTH)
    more = 2 * V3.kv_rank + V3.rope_dim - V3.head_dim - V3.rope_dim - V3.value_dim
    most = V3.kv_rank * (V3.head_dim + V3.value_dim) / more  # however long the cache
    return {
        "length": f"{LENGTH:,}",
        "embed_dim": f"{V3.embed_dim:,}",
        "cached": str(cached_elements()),
        "token_bytes": f"{kv_cache_bytes(latent_cache(LAYERS), 1):,}",
        "groups": f"{cached_elements() / (2 * V3.head_dim):.2f}",
        "eight_heads": f"{eight:,}",
        "multi_head": f"{multi_head:,}",
        "times_own": f"{keys_and_values() / cached_elements():.0f}",
        "times_multi_head": f"{multi_head / cached_elements():.0f}",
        "fewer_products": f"{fewer_products():.1f}",
        "even": f"{LENGTH * most / (LENGTH + most):.0f}",
        "gpu_copies": f"{2 * V3.num_heads * cached_bytes / 2**30:.3g} GiB",
        "gpu_cache": f"{cached_bytes / 2**20:.0f} MiB",
    }
