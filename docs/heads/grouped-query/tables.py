"""What key and value heads cost, in parameters and in cached bytes, and the forms measured."""

import torch

from attn_docs import KVConfig, kv_cache_bytes
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

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
    config = KVConfig(full_layers=LAYERS, num_kv_heads=kv_heads, head_dim=HEAD_DIM)
    return kv_cache_bytes(config, length, dtype=DTYPE)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def cost(language: str) -> str:
    """Return parameters and cached bytes against the number of key and value heads."""
    text = texts(__file__, "cost", language)
    names = {1: text["multi-query"], KV_HEADS: text["llama"], HEADS: text["multi-head"]}
    rows = (
        (
            f"{kv_heads}{names.get(kv_heads, '')}",
            f"{parameters(kv_heads) / 1e6:,.1f} M",
            f"{cache_bytes(kv_heads, 1) / 2**10:,.0f} KiB",
            _mebibytes(cache_bytes(kv_heads)),
        )
        for kv_heads in ALL_KV_HEADS
    )
    caption = text["caption"].format(layers=LAYERS, h=HEADS, d=HEAD_DIM, length=LENGTH)
    return f"{table(text['header'], rows)}\n\n{caption}"


def forms(language: str) -> str:
    """Return time over the repeat form's, and peak memory, as they were measured."""
    text, names = (texts(__file__, group, language) for group in ("forms", "ways"))
    measured = load(__file__)["forms"]
    rows = (
        (
            names[way],
            *(
                cell
                for case in benchmark.CASES
                for cell in (
                    f"{measured('time', way=way, case=case):.2f}×",
                    f"{measured('memory', way=way, case=case):,.0f} MiB",
                )
            ),
        )
        for way in benchmark.WAYS
    )
    (n, m), (text_n, _) = benchmark.CASES.values()
    caption = text["caption"].format(
        h=benchmark.HEADS,
        g=benchmark.KV_HEADS,
        d=benchmark.HEAD_DIM,
        n=n,
        m=m,
        text_n=text_n,
    )
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


TABLES = {"cost": cost, "forms": forms}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    return {
        "length": f"{LENGTH:,}",
        "times": str(HEADS // KV_HEADS),
        "cache_multi_head": f"{cache_bytes(HEADS) / 2**30:.0f} GiB",
        "cache_grouped": f"{cache_bytes(KV_HEADS) / 2**30:.0f} GiB",
        "cache_multi_query": _mebibytes(cache_bytes(1)),
    }
