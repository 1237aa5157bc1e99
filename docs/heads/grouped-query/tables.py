"""What key and value heads cost, in parameters and in cached bytes."""

import torch

from attn_docs import GroupedQueryAttention
from docs._kit.markdown import table

# Llama 3 8B
LAYERS, EMBED_DIM, HEADS, KV_HEADS, HEAD_DIM = 32, 4096, 32, 8, 128
LENGTH = 8192
DTYPE = torch.bfloat16
ALL_KV_HEADS = (1, 2, 4, 8, 16, 32)


def parameters(kv_heads: int) -> int:
    """Count the weights of one layer's four projections, without biases."""
    query_and_output = 2 * EMBED_DIM * HEADS * HEAD_DIM
    return query_and_output + 2 * EMBED_DIM * kv_heads * HEAD_DIM


def cache_bytes(kv_heads: int, length: int = LENGTH) -> int:
    """Count the bytes of the keys and values of one text, of all layers."""
    return 2 * LAYERS * kv_heads * HEAD_DIM * length * DTYPE.itemsize


def counted(kv_heads: int) -> tuple[int, int]:
    """Count the same on a module and on the tensors it makes, without giving them memory."""
    with torch.device("meta"):
        attend = GroupedQueryAttention(EMBED_DIM, HEADS, kv_heads, bias=False)
        attend.to(DTYPE)
        x = torch.empty(1, LENGTH, EMBED_DIM, dtype=DTYPE)
        made = [attend.k_proj(x), attend.v_proj(x)]
    weights = sum(parameter.numel() for parameter in attend.parameters())
    return weights, LAYERS * sum(tensor.nbytes for tensor in made)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def cost(language: str) -> str:
    """Return parameters and cached bytes against the number of key and value heads."""
    header = {
        "en": ("key and value heads $g$", "parameters of a layer", "cache per word", "cache"),
        "zh": ("键头和值头的个数 $g$", "一层的参数量", "每个词的缓存", "缓存"),
    }[language]
    names = {
        "en": {1: " (multi-query)", KV_HEADS: " (Llama 3 8B)", HEADS: " (multi-head)"},
        "zh": {1: "（多查询）", KV_HEADS: "（Llama 3 8B）", HEADS: "（多头）"},
    }[language]
    rows = []
    for kv_heads in ALL_KV_HEADS:
        expected = parameters(kv_heads), cache_bytes(kv_heads)
        if expected != counted(kv_heads):
            raise AssertionError(f"{kv_heads}: formula {expected}, counted {counted(kv_heads)}")
        rows.append(
            (
                f"{kv_heads}{names.get(kv_heads, '')}",
                f"{parameters(kv_heads) / 1e6:,.1f} M",
                f"{cache_bytes(kv_heads, 1) / 2**10:,.0f} KiB",
                _mebibytes(cache_bytes(kv_heads)),
            )
        )
    caption = {
        "en": f"The sizes of Llama 3 8B: {LAYERS} layers, {HEADS} query heads of {HEAD_DIM}, "
        f"bfloat16, one text of {LENGTH:,} words. One M is a million, one KiB is $2^{{10}}$ and "
        "one MiB $2^{20}$ bytes. Counted on the module as well: the same.",
        "zh": f"Llama 3 8B 的尺寸：{LAYERS} 层，{HEADS} 个查询头，每个头 {HEAD_DIM} 维，"
        f"bfloat16，一段 {LENGTH:,} 个词的文本。1 M 即百万，1 KiB 即 $2^{{10}}$ 字节，"
        "1 MiB 即 $2^{20}$ 字节。也在模块上数过，结果相同。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    return {
        "length": f"{LENGTH:,}",
        "times": str(HEADS // KV_HEADS),
        "cache_multi_head": f"{cache_bytes(HEADS) / 2**30:.0f} GiB",
        "cache_grouped": f"{cache_bytes(KV_HEADS) / 2**30:.0f} GiB",
        "cache_multi_query": _mebibytes(cache_bytes(1)),
    }
