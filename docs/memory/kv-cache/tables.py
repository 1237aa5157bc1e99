"""The keys that a cache saves, and what each way to cache costs."""

from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark


def keys_anew(length: int) -> int:
    """Count the keys made while a text is generated token by token without a cache."""
    return length * (length + 1) // 2


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


TABLES = {"per_word": per_word}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    times, long = load(__file__)["per_word"], benchmark.LENGTHS[-1]
    cached, anew = (times("time", way=way, words=long) for way in ("cached", "anew"))
    return {
        "thousand": f"{keys_anew(1000):,}",
        "rotated": f"{keys_anew(100):,}",
        "long": f"{long:,}",
        "times_anew": f"{round(anew / cached, -1):,.0f}",
        "of_cat": f"{times('time', way='concatenated', words=long) / cached:.1f}",
        "of_repeat": f"{times('time', way='repeated', words=long) / cached:.0f}",
        "reading": f"{times('time', way='read', words=long) / cached:.0%}",
    }
