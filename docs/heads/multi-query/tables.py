"""What multi-query attention saves."""

import torch

from docs._kit.markdown import table

from .figures import shared_weights

LAYERS, EMBED_DIM, HEADS, HEAD_DIM = 32, 4096, 32, 128  # those of Llama 2 7B
FALCON_LAYERS, FALCON_HEADS, FALCON_HEAD_DIM = 32, 71, 64
LENGTHS = (1024, 4096, 32768)


def cache_bytes(
    tokens: int,
    layers: int,
    kv_heads: int,
    head_dim: int,
    dtype: torch.dtype = torch.bfloat16,
) -> int:
    """Count the bytes of the keys and values of a text."""
    return 2 * tokens * layers * kv_heads * head_dim * dtype.itemsize


def parameters(embed_dim: int, heads: int, kv_heads: int, head_dim: int) -> dict[str, int]:
    """Count the weights of the four projections, without biases."""
    return {
        "q_proj": embed_dim * heads * head_dim,
        "k_proj": embed_dim * kv_heads * head_dim,
        "v_proj": embed_dim * kv_heads * head_dim,
        "out_proj": heads * head_dim * embed_dim,
    }


def _size(count: int) -> str:
    return f"{count // 2**20:,} MiB" if count >= 2**20 else f"{count // 2**10:,} KiB"


def cache(language: str) -> str:
    """Return the bytes of keys and values with a head for each query head and with one."""
    header = {
        "en": ("words in the text", "multi-head, {h} key and value heads", "multi-query, one"),
        "zh": ("文本的词数", "多头，{h} 个键头和值头", "多查询，一个"),
    }[language]
    rows = (
        (
            f"{length:,}",
            *(_size(cache_bytes(length, LAYERS, g, HEAD_DIM)) for g in (HEADS, 1)),
        )
        for length in (1, *LENGTHS)
    )
    caption = {
        "en": (
            f"{LAYERS} layers, $h = {HEADS}$ query heads of $d = {HEAD_DIM}$, two bytes a number: "
            "the sizes of Llama 2 7B. One KiB is $2^{10}$ bytes, one MiB $2^{20}$."
        ),
        "zh": (
            f"{LAYERS} 层，$h = {HEADS}$ 个查询头，$d = {HEAD_DIM}$，每个数两个字节："
            "即 Llama 2 7B 的尺寸。1 KiB 即 $2^{10}$ 字节，1 MiB 即 $2^{20}$ 字节。"
        ),
    }[language]
    return f"{table([cell.format(h=HEADS) for cell in header], rows)}\n\n{caption}"


def cost(language: str) -> str:
    """Return the parameters of one layer with a head for each query head and with one."""
    header = {
        "en": ("weights of one layer", "multi-head", "multi-query"),
        "zh": ("一层的权重个数", "多头", "多查询"),
    }[language]
    many, one = (parameters(EMBED_DIM, HEADS, g, HEAD_DIM) for g in (HEADS, 1))
    total = {"en": "all", "zh": "合计"}[language]
    rows = (
        *((f"`{name}`", f"{many[name]:,}", f"{one[name]:,}") for name in many),
        (total, f"{sum(many.values()):,}", f"{sum(one.values()):,}"),
    )
    caption = {
        "en": f"$D = {EMBED_DIM}$, $h = {HEADS}$, $d = {HEAD_DIM}$, without biases.",
        "zh": f"$D = {EMBED_DIM}$，$h = {HEADS}$，$d = {HEAD_DIM}$，没有偏置。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cache": cache, "cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    low, high, _ = shared_weights()[0].tolist()
    many, one = (cache_bytes(1, LAYERS, g, HEAD_DIM) for g in (HEADS, 1))
    text = cache_bytes(4096, LAYERS, HEADS, HEAD_DIM)
    weights = [sum(parameters(EMBED_DIM, HEADS, g, HEAD_DIM).values()) for g in (HEADS, 1)]
    falcon = cache_bytes(1, FALCON_LAYERS, 1, FALCON_HEAD_DIM)
    return {
        "falcon_bytes": f"{falcon:,}",
        "falcon_multi_head_bytes": f"{FALCON_HEADS * falcon:,}",
        "high": f"{high:.4f}",
        "low": f"{low:.4f}",
        "multi_head_bytes": f"{many:,}",
        "multi_head_text": f"{text // 2**30} GiB",
        "multi_query_bytes": f"{one:,}",
        "multi_query_text": f"{text // HEADS // 2**20} MiB",
        "output_high": f"{10 * high:.2f}",
        "output_low": f"{10 * low:.2f}",
        "parameters_left": f"{weights[1] / weights[0]:.0%}",
        "text": f"{4096:,}",
    }
