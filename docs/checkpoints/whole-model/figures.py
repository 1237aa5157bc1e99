"""Figures of the chapter on a whole model: its parts in order, and where a token's time goes."""

from collections.abc import Callable

import drawsvg

from docs._kit.draw import ACCENT, ACCENT_2, INK, ON_ACCENT, SOFT, arrow, box, canvas, finish, write
from docs._kit.text import texts

from . import tables
from .benchmark import CACHED

KEY = "checkpoints-whole-model"
_STREAM, _LEFT, _GAP, _HIGH = 24, 44, 8, 34
_RIGHT = 396
_TOP, _ATTENTION, _MLP = 42, 100, 176
# Which step of the core each box is; the core has no cache.
_NUMBERS = {"embedding": "2", "attention": "4455 67", "mlp": "8888", "unembedding": "9"}


def parts(language: str) -> str:
    """Draw the model's parts in the order in which a token's vector meets them."""
    text = texts(__file__, "parts", language)
    drawing = canvas(400, 326)
    write(drawing, text["tokens"], 0, 8, 12, text_anchor="start", font_weight="bold")
    frame = drawsvg.Rectangle(
        4, 64, 394, 180, rx=8, fill="none", stroke="currentColor", stroke_opacity=0.35
    )
    drawing.append(frame)
    write(drawing, text["layers"], _RIGHT - 6, 232, 12, text_anchor="end")
    for y, end in ((17, _TOP - 14), (_TOP + 14, 257), (285, 303)):
        arrow(drawing, (_STREAM, y), (_STREAM, end))
    for y, name in ((_TOP, "embedding"), (272, "unembedding")):
        box(drawing, 4, y - 13, 270, 26)
        write(drawing, text[name], 139, y, 12)
        write(drawing, _NUMBERS[name], 286, y, 12, font_weight="bold")
    write(drawing, text["logits"], 0, 315, 12, text_anchor="start", font_weight="bold")
    for y, name in ((_ATTENTION, "attention"), (_MLP, "mlp")):
        _branch(drawing, y, name, text[name])
    return finish(drawing.as_svg(header=""), f"{KEY}-parts", text["title"], text["desc"], zoom=1.4)


def _branch(drawing: drawsvg.Drawing, y: float, name: str, steps: list[list[str]]) -> None:
    """Draw a chain of steps that reads from the stream and adds to it again."""
    width = (_RIGHT - 6 - _LEFT - _GAP * (len(steps) - 1)) / len(steps)
    group = drawsvg.Group(data_branch=name)
    arrow(group, (_STREAM, y), (_LEFT - 2, y))
    for index, lines in enumerate(steps):
        x = _LEFT + index * (width + _GAP)
        box(group, x, y - _HIGH / 2, width, _HIGH)
        if index:
            arrow(group, (x - _GAP, y), (x - 1, y))
        number = _NUMBERS[name][index]
        write(group, number, x + width / 2, y - _HIGH / 2 - 8, 11, font_weight="bold")
        for row, line in enumerate(lines):
            write(group, line, x + width / 2, y + (row - (len(lines) - 1) / 2) * 13, 11)
    below, end = y + _HIGH / 2 + 14, _RIGHT - 6 - width / 2
    arrow(group, (end, y + _HIGH / 2 + 1), (end, below), (_STREAM + 3, below))
    write(group, "+", _STREAM - 9, below, 14)
    drawing.append(group)


_FILLS = {
    "products": {"fill": SOFT, "stroke": INK, "stroke_opacity": 0.5},
    "rest": {"fill": ACCENT_2},
    "before": {"fill": ACCENT},
}
_ROW, _WIDE = 42, 340


def spent(language: str) -> str:
    """Draw where the milliseconds of a token go, a bar for each step with a cache."""
    text, found = texts(__file__, "spent", language), {step: tables.spent(step) for step in CACHED}
    top, scale = 66, _WIDE / max(sum(parts.values()) for parts in found.values())
    drawing = canvas(400, top + _ROW * len(found))
    for row, (part, look) in enumerate(_FILLS.items()):
        drawing.append(drawsvg.Rectangle(1, 3 + 20 * row, 12, 12, **look))
        write(drawing, text[part], 20, 9 + 20 * row, 12, text_anchor="start")
    for row, (step, parts) in enumerate(found.items()):
        y, left, group = top + _ROW * row, 1.0, drawsvg.Group(data_step=step)
        write(group, text[step], 1, y + 10, 12, text_anchor="start")
        for part, value in parts.items():
            width = scale * value
            bar = drawsvg.Rectangle(left, y + 20, width, 16, data_bar=part, **_FILLS[part])
            group.append(bar)
            if width > 24:
                ink = INK if part == "products" else ON_ACCENT
                write(group, f"{value:.1f}", left + width / 2, y + 28, 11, fill=ink)
            left += width
        total = f"{sum(parts.values()):.1f} ms"
        write(group, total, left + 6, y + 28, 12, text_anchor="start")
        drawing.append(group)
    semicolon, comma = text["join"]
    rows = semicolon.join(
        text["row"].format(
            name=text[step],
            values=comma.join(f"{text[part]} {value:.1f}" for part, value in parts.items()),
        )
        for step, parts in found.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-spent", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"parts": parts, "spent": spent}
