"""What latent attention costs: parameters, kept numbers, FLOPs of its two forms."""

from typing import NamedTuple

import torch

from attn_docs import GroupedQueryAttention, LatentCache, MultiHeadLatentAttention
from docs._kit.markdown import table


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
LAYERS, BYTES = 61, 2  # bfloat16
V2_LAYERS = 60
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


def counted() -> tuple[int, int]:
    """Count weights and kept numbers on the module and its cache, without giving them memory."""
    with torch.device("meta"):
        names = ("embed_dim", "num_heads", "kv_rank", "q_rank", "head_dim", "rope_dim", "value_dim")
        attend = MultiHeadLatentAttention(**dict(zip(names, V3, strict=True)))
        cache = LatentCache(1, V3.kv_rank, V3.rope_dim, 1)
    return sum(parameter.numel() for parameter in attend.parameters()), cache.entries.numel()


def counted_grouped(kv_heads: int) -> int:
    """Count the weights of a grouped-query module, without giving them memory."""
    with torch.device("meta"):
        attend = GroupedQueryAttention(
            V3.embed_dim, V3.num_heads, kv_heads, head_dim=V3.head_dim, bias=False
        )
    return sum(parameter.numel() for parameter in attend.parameters())


def cost(language: str) -> str:
    """Return parameters, kept numbers and FLOPs of the four kinds of attention."""
    header = {
        "en": ("layer", "parameters", "kept per word", "cache per word", "FLOPs per word"),
        "zh": ("一层", "参数量", "每个词保存的数", "每个词的缓存", "每个词的 FLOPs"),
    }[language]
    names = {
        "en": {
            "multi-head": "multi-head, 128 key and value heads",
            "grouped": "grouped-query, 8",
            "multi-query": "multi-query, 1",
            "absorbed": "latent, absorbed",
            "naive": "latent, naive",
        },
        "zh": {
            "multi-head": "多头，128 个键头和值头",
            "grouped": "分组查询，8 个",
            "multi-query": "多查询，1 个",
            "absorbed": "潜在，吸收形式",
            "naive": "潜在，朴素形式",
        },
    }[language]
    rows = []
    for name, kv_heads in KV_HEADS.items():
        if grouped_parameters(kv_heads) != counted_grouped(kv_heads):
            raise AssertionError(f"{name}: {grouped_parameters(kv_heads)}")
        numbers = 2 * kv_heads * V3.head_dim
        work = grouped_flops(kv_heads, 1, LENGTH)
        rows.append((names[name], grouped_parameters(kv_heads), numbers, work))
    if counted() != (parameters(), kept()):
        raise AssertionError(f"latent: formula {parameters(), kept()}, counted {counted()}")
    down = 2 * V3.embed_dim * kept()  # kv_a_proj
    for name in ("absorbed", "naive"):
        work = down + flops(V3, 1, LENGTH, absorb=name == "absorbed")
        rows.append((names[name], parameters(), kept(), work))
    cells = [
        (
            name,
            f"{weights / 1e6:,.1f} M",
            f"{numbers:,}",
            f"{numbers * BYTES:,} B",
            f"{work / 1e9:,.2f} G",
        )
        for name, weights, numbers, work in rows
    ]
    caption = {
        "en": f"One layer of the sizes of DeepSeek-V3: vectors of {V3.embed_dim:,}, "
        f"{V3.num_heads} query heads, {V3.head_dim} numbers a head, bfloat16. FLOPs: keys, values, "
        f"scores and mixing for one new word after {LENGTH - 1:,} kept ones; a multiplication and "
        "an addition are two. The naive form unpacks the kept vectors anew for each word. One M is "
        "a million, one G $10^9$, one B a byte. Parameters and kept numbers were "
        "counted on the modules as well: the same.",
        "zh": f"按 DeepSeek-V3 的尺寸算一层：向量 {V3.embed_dim:,} 维，{V3.num_heads} 个查询头，"
        f"每个头 {V3.head_dim} 维，bfloat16。FLOPs：已经保存了 {LENGTH - 1:,} 个词，"
        "再来一个新词，求键、值、分数和加权求和；一次乘法和一次加法算两个。"
        "朴素形式每来一个词就把保存的向量重新展开一遍。1 M 即百万，1 G 即 $10^9$，"
        "1 B 即一个字节。参数量和保存的数也在模块上数过，结果相同。",
    }[language]
    return f"{table(header, cells)}\n\n{caption}"


CASES = {"word": (1, LENGTH), "chunk": (CHUNK, LENGTH), "text": (LENGTH, LENGTH)}


def forms(language: str) -> str:
    """Return the FLOPs of both forms for one word, a chunk, a whole text."""
    header = {
        "en": ("new words", "words in all", "naive", "absorbed", "naive / absorbed"),
        "zh": ("新词", "总词数", "朴素形式", "吸收形式", "朴素 / 吸收"),
    }[language]
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
    caption = {
        "en": "FLOPs of one layer of DeepSeek-V3's sizes, from the kept vectors to the heads' "
        "results; scores of later words, which the causal mask hides, are counted too.",
        "zh": "按 DeepSeek-V3 的尺寸算一层的 FLOPs，从保存的向量算到各个头的结果；"
        "被因果掩码遮住的分数也算在内。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost, "forms": forms}


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
        "layer_bytes": f"{kept() * BYTES:,}",
        "token_bytes": f"{kept() * BYTES * LAYERS:,}",
        "v2_token_bytes": f"{kept() * BYTES * V2_LAYERS:,}",
        "groups": f"{kept() / (2 * V3.head_dim):.2f}",
        "unpacked": f"{unpacked():,}",
        "multi_head": f"{multi_head:,}",
        "times_unpacked": f"{unpacked() / kept():.0f}",
        "times_multi_head": f"{multi_head / kept():.0f}",
        "times_word": f"{one[False] / one[True]:.0f}",
        "even": f"{even:.0f}",
        "query_direct": f"{V3.embed_dim * V3.num_heads * (V3.head_dim + V3.rope_dim) / 1e6:,.0f} M",
        "query_compressed": f"{V3.q_rank * (V3.embed_dim + V3.num_heads * 192) / 1e6:,.0f} M",
        "fused": f"{V3.head_dim * V3.kv_rank / 1e3:,.0f} K",
        "direct": f"{V3.num_heads * V3.kv_rank * V3.embed_dim / 1e6:,.0f} M",
    }
