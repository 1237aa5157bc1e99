"""The work that a cache saves, counted, and the bytes it takes."""

import torch

from attn_docs import KVCache
from docs._kit.markdown import table

LENGTHS = (3, 10, 100, 1000, 8192)
# name: batch, key and value heads, head size, capacity, window, dtype
CACHES: dict[str, tuple[int, int, int, int, int | None, torch.dtype]] = {
    "small": (2, 3, 4, 8, None, torch.float32),
    "multi-head": (1, 32, 128, 8192, None, torch.bfloat16),
    "grouped": (1, 8, 128, 8192, None, torch.bfloat16),
    "multi-query": (1, 1, 128, 8192, None, torch.bfloat16),
    "batch": (16, 8, 128, 8192, None, torch.bfloat16),
    "window": (1, 8, 128, 8192, 4096, torch.bfloat16),
}


def keys_made(length: int, *, cached: bool) -> int:
    """Count the keys made while a text is written word by word, in one layer and head."""
    return length if cached else length * (length + 1) // 2


def scores_made(length: int, *, cached: bool) -> int:
    """Count the scores made while a text is written, none of a later word."""
    if cached:
        return length * (length + 1) // 2
    return length * (length + 1) * (length + 2) // 6


def counted(length: int, *, cached: bool) -> tuple[int, int]:
    """Count keys and scores by a loop over the words."""
    keys = scores = 0
    for words in range(1, length + 1):  # how many there are when the last is read
        new = 1 if cached else words
        keys += new
        scores += words if cached else sum(range(1, words + 1))
    return keys, scores


def nbytes(
    batch: int, heads: int, size: int, capacity: int, window: int | None, dtype: torch.dtype
) -> int:
    """Count the bytes of a layer's cache by the formula."""
    slots = capacity if window is None else min(capacity, window)
    return 2 * batch * heads * slots * size * dtype.itemsize


def work(language: str) -> str:
    """Return keys and scores made for texts of several lengths, without a cache and with one."""
    header = {
        "en": ("words", "keys, no cache", "keys, cache", "scores, no cache", "scores, cache"),
        "zh": ("词数", "键，无缓存", "键，有缓存", "分数，无缓存", "分数，有缓存"),
    }[language]
    rows = []
    for length in LENGTHS:
        ways = [(keys_made(length, cached=c), scores_made(length, cached=c)) for c in (False, True)]
        if length <= 1000 and ways != [counted(length, cached=c) for c in (False, True)]:
            raise AssertionError(f"{length}: {ways}")
        cells = (*(keys for keys, _ in ways), *(scores for _, scores in ways))
        rows.append((f"{length:,}", *(f"{cell:,}" for cell in cells)))
    caption = {
        "en": "Made in one layer and head while a text is written word by word; values are as "
        "many as keys. Scores of later words are not counted.",
        "zh": "逐词生成文本时，在一层的一个头里要算的个数；值与键一样多。对后面的词的分数不计。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


def _size(size: int) -> str:
    if size < 2**20:
        return f"{size:,} B"
    return f"{size / 2**20:,.0f} MiB"


def memory(language: str) -> str:
    """Return the bytes of several caches, by the formula and of the tensors."""
    header = {
        "en": ("cache of a layer", "$b$", "$g$", "$d$", "slots", "bytes a number", "`nbytes`"),
        "zh": ("一层的缓存", "$b$", "$g$", "$d$", "槽位数", "每个数的字节数", "`nbytes`"),
    }[language]
    names = {
        "en": {
            "small": "a small one, float32",
            "multi-head": "32 heads, bfloat16",
            "grouped": "8 heads shared by groups",
            "multi-query": "1 head shared by all",
            "batch": "8 heads, 16 texts",
            "window": "8 heads, window",
        },
        "zh": {
            "small": "小例子，float32",
            "multi-head": "32 个头，bfloat16",
            "grouped": "8 个头，分组共用",
            "multi-query": "1 个头，全体共用",
            "batch": "8 个头，16 段文本",
            "window": "8 个头，滑动窗口",
        },
    }[language]
    rows = []
    for name, sizes in CACHES.items():
        batch, heads, size, capacity, window, dtype = sizes
        with torch.device("meta"):  # no memory is taken
            cache = KVCache(batch, heads, size, capacity, dtype=dtype, window=window)
        if cache.nbytes != nbytes(*sizes):
            raise AssertionError(f"{name}: {cache.nbytes} and {nbytes(*sizes)} by the formula")
        slots = cache.key.size(2)
        numbers = (batch, heads, size, f"{slots:,}", dtype.itemsize)
        rows.append((names[name], *map(str, numbers), _size(cache.nbytes)))
    caption = {
        "en": "`nbytes` of a `KVCache`, which is the formula's number. One MiB is $2^{20}$ bytes.",
        "zh": "`KVCache` 的 `nbytes`，与公式算出的相同。1 MiB 即 $2^{20}$ 字节。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"work": work, "memory": memory}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    long = LENGTHS[-1]
    return {
        "long": f"{long:,}",
        "keys_ratio": f"{keys_made(long, cached=False) / keys_made(long, cached=True):,.0f}",
    }
