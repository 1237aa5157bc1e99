"""Decoding with latent attention: absorbed, naive, and with keys and values kept unpacked."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import LatentCache, MultiHeadLatentAttention, merge_heads, split_heads
from docs._kit.markdown import table
from docs._kit.measure import circumstances, paired_ratio

# a layer of DeepSeek-V2-Lite
SIZES = {
    "embed_dim": 2048,
    "num_heads": 16,
    "kv_rank": 512,
    "head_dim": 128,
    "rope_dim": 64,
    "value_dim": 128,
}
CONTEXTS = (256, 1024, 4096)
ROUNDS = 9
WAYS = ("absorbed", "naive", "unpacked")
NAMES = {
    "en": {"absorbed": "absorbed", "naive": "naive", "unpacked": "unpacked cache"},
    "zh": {"absorbed": "吸收形式", "naive": "朴素形式", "unpacked": "展开后再缓存"},
}


class Measurement(NamedTuple):
    """Time of a new word over the absorbed form's at the shortest context, and cached MiB."""

    ratio: float
    mebibytes: float


def prepare(
    context: int, **sizes: int
) -> tuple[MultiHeadLatentAttention, dict[str, Callable[[], Tensor]]]:
    """Return a module and, for each way, the step of one word after `context` kept ones."""
    torch.manual_seed(0)
    attend = MultiHeadLatentAttention(**sizes).eval()
    c, r, d = attend.kv_rank, attend.rope_dim, attend.head_dim
    cache = LatentCache(1, c, r, context + 1)
    cache.entries.normal_()
    x = torch.randn(1, 1, sizes["embed_dim"])
    position = torch.tensor([context])

    def unpack(entries: Tensor) -> tuple[Tensor, Tensor]:
        up = split_heads(attend.kv_b_proj(entries[:, 0, :, :c]), attend.num_heads)
        rotary = entries[..., c:].expand(-1, attend.num_heads, -1, -1)
        # as wide as the keys: fused kernels want one size
        value = F.pad(up[..., d:], (0, max(0, d + r - attend.value_dim)))
        return torch.cat((up[..., :d], rotary), -1), value

    with torch.no_grad():
        key, value = unpack(cache.entries)

    def latent(*, absorb: bool) -> Tensor:
        cache.length = context  # as before this word
        return attend(x, is_causal=True, cache=cache, absorb=absorb)

    def unpacked() -> Tensor:
        query = split_heads(attend.q_proj(x), attend.num_heads)
        turned = attend.rotary(query[..., d:], position)
        entry = attend.kv_a_proj(x).unsqueeze(1)
        rotary = attend.rotary(entry[..., c:], position)
        new = unpack(torch.cat((attend.kv_a_norm(entry[..., :c]), rotary), -1))
        key[:, :, context:], value[:, :, context:] = new
        query = torch.cat((query[..., :d], turned), -1)
        heads = F.scaled_dot_product_attention(query, key, value)[..., : attend.value_dim]
        return attend.out_proj(merge_heads(heads))

    steps = {
        "absorbed": lambda: latent(absorb=True),
        "naive": lambda: latent(absorb=False),
        "unpacked": unpacked,
    }
    return attend, steps


def cached(context: int) -> dict[str, float]:
    """Return the MiB that each way keeps of `context` words, in float32."""
    kept = SIZES["kv_rank"] + SIZES["rope_dim"]
    heads = SIZES["head_dim"] + SIZES["rope_dim"] + SIZES["value_dim"]
    full = SIZES["num_heads"] * heads
    return {way: context * (full if way == "unpacked" else kept) * 4 / 2**20 for way in WAYS}


@torch.no_grad()
def measure() -> dict[int, dict[str, Measurement]]:
    """Measure all ways over the context's length, in float32, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    reference = prepare(CONTEXTS[0], **SIZES)[1]["absorbed"]
    measured = {}
    for context in CONTEXTS:
        _, steps = prepare(context, **SIZES)
        measured[context] = {
            way: Measurement(paired_ratio(steps[way], reference, ROUNDS), cached(context)[way])
            for way in WAYS
        }
    torch.set_num_threads(threads)
    return measured


def decode_table(measured: dict[int, dict[str, Measurement]], language: str) -> str:
    """Return the measurement as a table: time of a new word, and cached memory."""
    header = {
        "en": ("context", *(f"{name}, time" for name in NAMES["en"].values()), "entries, cache",
               "unpacked, cache"),
        "zh": ("上下文长度", *(f"{name}，时间" for name in NAMES["zh"].values()), "潜在向量，缓存",
               "展开后，缓存"),
    }[language]  # fmt: skip
    rows = (
        (
            f"{context:,}",
            *(f"{row[way].ratio:.2f}×" for way in WAYS),
            f"{row['absorbed'].mebibytes:,.1f} MiB",
            f"{row['unpacked'].mebibytes:,.1f} MiB",
        )
        for context, row in measured.items()
    )
    text = {
        "en": f"A layer of the sizes of DeepSeek-V2-Lite: {SIZES['num_heads']} heads of "
        f"{SIZES['head_dim']} + {SIZES['rope_dim']}, {SIZES['kv_rank']} latent numbers, float32, "
        f"batch 1. Time of one new word, projections included, over the absorbed form's after "
        f"{CONTEXTS[0]} words. Naive: kept vectors, unpacked anew for each word. Unpacked cache: "
        "keys and values kept.",
        "zh": f"按 DeepSeek-V2-Lite 的尺寸取一层：{SIZES['num_heads']} 个头，每个头 "
        f"{SIZES['head_dim']} + {SIZES['rope_dim']} 维，潜在向量 {SIZES['kv_rank']} 维，"
        f"float32，批次 1。生成一个新词的时间（含投影），与吸收形式在 {CONTEXTS[0]} "
        "个词之后的时间之比。朴素形式：保存潜在向量，每来一个词重新展开。"
        "展开后再缓存：保存键和值。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table(header, rows)}\n\n{caption}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows and its figure reads."""
    measured = measure()
    return {"decode": lambda language: decode_table(measured, language)}
