"""The work that a cache saves, counted, and the bytes it takes."""

import torch

from attn_docs import KVCache
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

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
    header = texts(__file__, "work", language)["header"]
    rows = []
    for length in LENGTHS:
        ways = [(keys_made(length, cached=c), scores_made(length, cached=c)) for c in (False, True)]
        if length <= 1000 and ways != [counted(length, cached=c) for c in (False, True)]:
            raise AssertionError(f"{length}: {ways}")
        cells = (*(keys for keys, _ in ways), *(scores for _, scores in ways))
        rows.append((f"{length:,}", *(f"{cell:,}" for cell in cells)))
    caption = texts(__file__, "work", language)["caption"]
    return f"{table(header, rows)}\n\n{caption}"


def _size(size: int) -> str:
    if size < 2**20:
        return f"{size:,} B"
    return f"{size / 2**20:,.0f} MiB"


def memory(language: str) -> str:
    """Return the bytes of several caches, by the formula and of the tensors."""
    header = texts(__file__, "memory", language)["header"]
    names = texts(__file__, "caches", language)
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
    caption = texts(__file__, "memory", language)["caption"]
    return f"{table(header, rows)}\n\n{caption}"


def per_word(language: str) -> str:
    """Return the measured times of a new word, a row for each number of words before it."""
    text, names = texts(__file__, "per_word", language), texts(__file__, "names", language)
    found = load(__file__)["per_word"]
    rows = (
        (f"{n:,}", *(f"{found('time', way=way, words=n):,.2f}×" for way in benchmark.WAYS))
        for n in benchmark.LENGTHS
    )
    caption = text["caption"].format(
        heads=benchmark.HEADS,
        kv_heads=benchmark.KV_HEADS,
        size=benchmark.EMBED_DIM // benchmark.HEADS,
        batch=benchmark.BATCH,
        words=benchmark.LENGTHS[0],
    )
    header = (text["header"], *(names[way] for way in benchmark.WAYS))
    return f"{table(header, rows)}\n\n{found.caption(caption, language)}"


TABLES = {"work": work, "memory": memory, "per_word": per_word}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    long = LENGTHS[-1]
    return {
        "long": f"{long:,}",
        "keys_ratio": f"{keys_made(long, cached=False) / keys_made(long, cached=True):,.0f}",
    }
