"""Figures of the chapter on multi-query attention."""

from collections.abc import Callable

from docs._kit.draw import SHADE, canvas, cells, finish, write
from docs._kit.text import texts

from .tables import SOUGHT, TOKENS, shared_weights

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


FIGURES: dict[str, Callable[[str], str]] = {"same-keys": same_keys}
