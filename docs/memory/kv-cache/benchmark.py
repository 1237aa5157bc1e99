"""One new word: with a cache, with caches that grow by copying, and computed anew."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import GroupedQueryAttention, KVCache, merge_heads, split_heads
from docs._kit.markdown import table
from docs._kit.measure import circumstances, paired_ratio

EMBED_DIM, HEADS, KV_HEADS = 512, 8, 2
BATCH = 4
LENGTHS = (256, 1024, 4096)
ROUNDS = 15
ANEW_ROUNDS = 3

WAYS = ("read", "cached", "concatenated", "repeated", "anew")
NAMES = {
    "en": {
        "read": "reading alone",
        "cached": "`KVCache`",
        "concatenated": "`torch.cat`",
        "repeated": "`torch.cat`, repeated",
        "anew": "no cache",
    },
    "zh": {
        "read": "只读缓存",
        "cached": "`KVCache`",
        "concatenated": "`torch.cat`",
        "repeated": "`torch.cat` 加重复",
        "anew": "不用缓存",
    },
}


class Steps(NamedTuple):
    """What is called for one new word, each way, with all earlier words in place."""

    read: Callable[[], Tensor]
    cached: Callable[[], Tensor]
    concatenated: Callable[[], Tensor]
    repeated: Callable[[], Tensor]
    anew: Callable[[], Tensor]


def steps(length: int) -> Steps:
    """Return the ways to attend from one new word, the last of `length`."""
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
        cache.length = length - 1  # the same word each time
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
def measure() -> dict[int, dict[str, float]]:
    """Measure on one thread; each time over that of the cache of the shortest text."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    first = steps(LENGTHS[0]).cached
    measured = {}
    for length in LENGTHS:
        ways = steps(length)
        growth = paired_ratio(ways.cached, first, ROUNDS) if length != LENGTHS[0] else 1.0
        measured[length] = {
            name: growth * paired_ratio(way, ways.cached, ANEW_ROUNDS if name == "anew" else ROUNDS)
            if name != "cached"
            else growth
            for name, way in ways._asdict().items()
        }
    torch.set_num_threads(threads)
    return measured


def per_word_table(measured: dict[int, dict[str, float]], language: str) -> str:
    """Return the measurement as a table, a row for each length."""
    header = {"en": "words so far", "zh": "已有的词数"}[language]
    rows = (
        (f"{length:,}", *(f"{measured[length][name]:,.2f}×" for name in WAYS)) for length in LENGTHS
    )
    size = EMBED_DIM // HEADS
    text = {
        "en": f"Time for one new word. One layer, {HEADS} query heads, {KV_HEADS} key and value "
        f"heads of {size}, batch {BATCH}, float32, as a multiple of `KVCache` with {LENGTHS[0]} "
        "words: medians of pairs taken in turns. Reading alone: the attention function on the "
        "kept keys and values, without projections.",
        "zh": f"生成一个新词的时间。一层，{HEADS} 个查询头，{KV_HEADS} 个键头和值头，每个头 "
        f"{size} 维，批次 {BATCH}，float32，以 {LENGTHS[0]} 个词时的 `KVCache` 为单位；"
        "取轮流成对测量的中位数。只读缓存：只对存下的键和值调用注意力函数，没有投影。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table((header, *(NAMES[language][name] for name in WAYS)), rows)}\n\n{caption}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows and its figure reads."""
    measured = measure()
    return {"per_word": lambda language: per_word_table(measured, language)}
