"""The work that a cache saves, counted."""

from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

LENGTHS = (5, 100, 1000, 8192)


def keys_made(length: int, *, cached: bool) -> int:
    """Count the keys made while a text is generated token by token, in one layer and head."""
    return length if cached else length * (length + 1) // 2


def scores_made(length: int, *, cached: bool) -> int:
    """Count the scores made while a text is generated, none with a later token."""
    if cached:
        return length * (length + 1) // 2
    return length * (length + 1) * (length + 2) // 6


def counted(length: int, *, cached: bool) -> tuple[int, int]:
    """Count keys and scores by a loop over the tokens."""
    keys = scores = 0
    for tokens in range(1, length + 1):  # how many there are when the last is read
        new = 1 if cached else tokens
        keys += new
        scores += tokens if cached else sum(range(1, tokens + 1))
    return keys, scores


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


def per_word(language: str) -> str:
    """Return the measured times of a new token, a row for each number of tokens before it."""
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


TABLES = {"work": work, "per_word": per_word}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    times, long = load(__file__)["per_word"], benchmark.LENGTHS[-1]
    cached, anew = (times("time", way=way, words=long) for way in ("cached", "anew"))
    return {
        "thousand": f"{keys_made(1000, cached=False):,}",
        "rotated": f"{keys_made(100, cached=False):,}",
        "long": f"{long:,}",
        "times_anew": f"{round(anew / cached, -1):,.0f}",
        "of_cat": f"{times('time', way='concatenated', words=long) / cached:.1f}",
        "of_repeat": f"{times('time', way='repeated', words=long) / cached:.0f}",
        "reading": f"{times('time', way='read', words=long) / cached:.0%}",
    }
