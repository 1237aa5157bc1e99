"""Figures of the chapter on grouped-query attention."""

from collections.abc import Callable

import drawsvg
import torch

from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    ON_ACCENT,
    box,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import WAYS

KEY = "heads-grouped-query"
HEADS = 4
PANELS = {"multi-head": 4, "grouped-query": 2, "multi-query": 1}
MAP_HEADS, MAP_KV_HEADS = 6, 3
_FILLED = 0.8


def sharing(language: str) -> str:
    """Draw which query head reads which key and value head, in the three kinds of attention."""
    text = texts(__file__, "sharing", language)
    drawing = canvas(340, 166)
    for (panel, kv_heads), left in zip(PANELS.items(), (0, 120, 240), strict=True):
        group = drawsvg.Group(data_panel=panel)
        write(group, text[panel], left + 50, 8, 12, font_weight="bold")
        size = HEADS // kv_heads
        for head in range(HEADS):
            kv_head = head // size
            x, below = left + 12.5 + 25 * head, left + 12.5 + 25 * ((kv_head + 0.5) * size - 0.5)
            lit = kv_head == 0
            colour = ACCENT if lit else INK
            line = {"stroke": colour, "stroke_width": 2 if lit else 1}
            group.append(drawsvg.Line(x, 48, below, 108, **line, data_query=head, data_key=kv_head))
            _head(group, f"Q{head + 1}", x, 36, lit=lit)
        for kv_head in range(kv_heads):
            below = left + 12.5 + 25 * ((kv_head + 0.5) * size - 0.5)
            for name, y in (("K", 120), ("V", 148)):
                _head(group, f"{name}{kv_head + 1}", below, y, lit=kv_head == 0)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-sharing", text["title"], text["desc"])


def _head(parent: drawsvg.Group, name: str, x: float, y: float, *, lit: bool) -> None:
    box(parent, x - 11, y - 12, 22, 24, lit=lit, rx=4)
    emphasis = {"fill": ON_ACCENT, "font_weight": "bold"} if lit else {}
    write(parent, name, x, y, 12, **emphasis)


def mappings() -> dict[str, list[int]]:
    """Return, for each way to repeat, the key head that each query head reads."""
    key_heads, group = torch.arange(MAP_KV_HEADS), MAP_HEADS // MAP_KV_HEADS
    return {
        "repeat_interleave": key_heads.repeat_interleave(group).tolist(),
        "repeat": key_heads.repeat(group).tolist(),
    }


def mapping(language: str) -> str:
    """Draw the matrix of query head against key head for repeat_interleave and for repeat."""
    text, size = texts(__file__, "mapping", language), 23
    drawing = canvas(340, 224)
    found = mappings()
    for (way, read), left in zip(found.items(), (0, 180), strict=True):
        group = drawsvg.Group(data_mapping=way)
        write(group, f"{way}()", left, 8, text_anchor="start", font_weight="bold")
        write(group, text[way], left, 27, 12, text_anchor="start")
        write(group, f"{text['query']} ↓", left, 67, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 86, 48, 12, text_anchor="start")
        for row in range(MAP_HEADS):
            write(group, str(row), left + 70, 84 + (row + 0.5) * size, 12)
        for column in range(MAP_KV_HEADS):
            write(group, str(column), left + 86 + (column + 0.5) * size, 67, 12)
        shades = [[_FILLED * (column == key) for column in range(MAP_KV_HEADS)] for key in read]
        cells(group, shades, left + 86, 84, size, size)
        drawing.append(group)
    desc = text["desc"].format(
        **{way: text["comma"].join(map(str, read)) for way, read in found.items()}
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-mapping", text["title"], desc)


_PANEL = 22 + 20 * len(WAYS) + 24  # height of a panel of bars, and the gap below it


def one_word() -> dict[str, tuple[float, float]]:
    """Return each form's relative time and peak memory for one word, as measured."""
    found = load(__file__)["forms"]
    return {
        way: (found("time", way=way, case="one word"), found("memory", way=way, case="one word"))
        for way in WAYS
    }


def measured(language: str) -> str:
    """Draw the stored measurement of one word as bars: a panel for time, one for memory."""
    text, ways = (texts(__file__, group, language) for group in ("measured", "ways"))
    values = one_word()
    names = {name: shown.replace("`", "") for name, shown in ways.items()}
    drawing = canvas(380, 2 * _PANEL - 14)
    shown = {"time": "{:.2f}×", "memory": "{:.0f} MiB"}
    for panel, (kind, form) in enumerate(shown.items()):
        group, top = drawsvg.Group(data_panel=kind), panel * _PANEL
        write(group, text[kind], 0, top + 8, 12, text_anchor="start", font_weight="bold")
        most = max(pair[panel] for pair in values.values())
        for row, (name, pair) in enumerate(values.items()):
            y, width = top + 22 + 20 * row, 130 * pair[panel] / most
            write(group, names[name], 0, y + 7, 12, text_anchor="start")
            bar = {"fill": (ACCENT, ACCENT_2)[panel], "data_bar": name, "data_value": pair[panel]}
            group.append(drawsvg.Rectangle(188, y, width, 14, **bar))
            write(group, form.format(pair[panel]), 194 + width, y + 7, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=names[name], time=pair[0], memory=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "sharing": sharing,
    "mapping": mapping,
    "measured": measured,
}
