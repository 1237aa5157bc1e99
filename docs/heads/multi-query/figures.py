"""Figures of the chapter on multi-query attention."""

from collections.abc import Callable

import drawsvg

from docs._kit.draw import ACCENT, ACCENT_2, SHADE, canvas, cells, finish, write
from docs._kit.text import texts

from .tables import SOUGHT, TOKENS, shared_weights, steps

KEY = "heads-multi-query"


def same_keys(language: str) -> str:
    """Draw the weights that two heads of one token give to the same keys."""
    text, weights = texts(__file__, "same_keys", language), shared_weights()
    drawing = canvas(400, 124)
    left, top, width, height = 96, 52, 74, 34
    write(drawing, f"{text['query']} ↓", left - 10, 38, 12, text_anchor="end")
    write(drawing, f"{text['key']} →", left + len(TOKENS) / 2 * width, 10, 12)
    cells(drawing, (SHADE * weights / weights.max()).tolist(), left, top, width, height)
    for column, token in enumerate(TOKENS):
        write(drawing, token, left + (column + 0.5) * width, 38, font_weight="bold")
    for row, line in enumerate(weights.tolist()):
        middle = top + (row + 0.5) * height
        write(drawing, text[SOUGHT[row]], left - 10, middle, text_anchor="end")
        for column, weight in enumerate(line):
            write(drawing, f"{weight:.2f}", left + (column + 0.5) * width, middle)
    outer, inner = text["join"]
    rows = outer.join(
        text["row"].format(sought=text[sought], weights=inner.join(f"{w:.2f}" for w in line))
        for sought, line in zip(SOUGHT, weights.tolist(), strict=True)
    )
    told = text["title"], text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-same-keys", *told, zoom=1.4)


_BARS = (("cache", 84, 100, ACCENT_2, "{:.0f} MiB"), ("time", 248, 92, ACCENT, "{:.1f} ms"))


def measured(language: str) -> str:
    """Draw what a step reads of the cache and how long it takes, for each number of KV heads."""
    text, values = texts(__file__, "measured", language), steps()
    drawing = canvas(400, 44 + 30 * len(values))
    write(drawing, text["kv_heads"], 0, 14, 12, text_anchor="start", font_weight="bold")
    for column, (name, left, width, colour, form) in enumerate(_BARS):
        write(drawing, text[name], left, 14, 12, text_anchor="start", font_weight="bold")
        full = max(pair[column] for pair in values.values())
        for row, (kv_heads, pair) in enumerate(values.items()):
            top, length = 36 + 30 * row, width * pair[column] / full
            bar = {"fill": colour, "data_bar": f"{name},{kv_heads}"}
            drawing.append(drawsvg.Rectangle(left, top, length, 18, **bar))
            said = form.format(pair[column])
            write(drawing, said, left + length + 5, top + 9, 12, text_anchor="start")
    for row, kv_heads in enumerate(values):
        write(drawing, f"{kv_heads}", 30, 45 + 30 * row, 13)
    rows = text["join"].join(
        text["row"].format(kv_heads=kv_heads, cache=f"{cache:.0f}", time=f"{time:.1f}")
        for kv_heads, (cache, time) in values.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc, zoom=1.25)


FIGURES: dict[str, Callable[[str], str]] = {"same-keys": same_keys, "measured": measured}
