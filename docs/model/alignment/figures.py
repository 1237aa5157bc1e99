"""Figures of the chapter on a decoder that may look back: what it learned, and how well it does."""

import itertools
from collections.abc import Callable
from datetime import date
from functools import cache

import drawsvg
import matplotlib.style
from torch import Tensor

from attn_docs.model.alignment import load_translator
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, canvas, finish, write
from docs._kit.text import texts

from .benchmark import EXTRA
from .tables import LEAST, numbers, right_after

KEY = "model-alignment"
DAY = date(1997, 9, 23)  # one of those that no training sees
LINE = "23rd of september 1997"
LINES = ("tuesday, sep 23 1997", "tea 23/9/1997 rome")
LEFT, CELL = 22, 16  # room for the characters that are written; a cell
HEAD = 22  # room for what the axes are


@cache
def weights(line: str) -> Tensor:
    """Return where the shipped model looks at each step; it has to write the day of the figures."""
    written, looked = load_translator().align(line)
    if written != DAY.isoformat():
        raise ValueError(f"{line!r} must come out as {DAY}; got {written}")
    return looked


def draw_map(parent: drawsvg.DrawingParentElement, line: str, left: float, top: float) -> None:
    """Draw one map: the line above, what is written at the left, a cell for each weight."""
    group, rows = drawsvg.Group(data_line=line), weights(line).tolist()
    parent.append(group)
    for column, character in enumerate(line):
        if character != " ":
            write(group, character, left + (column + 0.5) * CELL, top + 8, 13)
    frame = {"fill": "none", "stroke": INK, "stroke_opacity": 0.35}
    group.append(drawsvg.Rectangle(left, top + 20, CELL * len(line), CELL * len(rows), **frame))
    shades = drawsvg.Group(fill=ACCENT)
    for row, column in itertools.product(range(len(rows)), range(len(line))):
        if rows[row][column] >= LEAST:
            place = (left + column * CELL, top + 20 + row * CELL, CELL, CELL)
            shade = round(rows[row][column], 2)
            shades.append(drawsvg.Rectangle(*place, fill_opacity=shade))
    group.append(shades)
    for row, character in enumerate(DAY.isoformat()):
        write(group, character, left - 10, top + 20 + (row + 0.5) * CELL, 13)


def one_line(language: str) -> str:
    """Draw the map of one line."""
    text = texts(__file__, "one-line", language)
    drawing = canvas(LEFT + CELL * len(LINE) + 1, HEAD + 21 + CELL * 10)
    write(drawing, text["axes"], 0, 8, 12, text_anchor="start")
    draw_map(drawing, LINE, LEFT, HEAD)
    desc = text["desc"].format(line=LINE, date=DAY.isoformat())
    return finish(drawing.as_svg(header=""), f"{KEY}-one-line", text["title"], desc)


def formats(language: str) -> str:
    """Draw the maps of two lines that write the same day in other ways."""
    text = texts(__file__, "formats", language)
    pitch = 20 + CELL * 10 + 18
    drawing = canvas(LEFT + CELL * max(map(len, LINES)) + 1, HEAD + len(LINES) * pitch - 17)
    write(drawing, text["axes"], 0, 8, 12, text_anchor="start")
    for index, line in enumerate(LINES):
        draw_map(drawing, line, LEFT, HEAD + index * pitch)
    desc = text["desc"].format(lines=text["join"].join(LINES), date=DAY.isoformat())
    return finish(drawing.as_svg(header=""), f"{KEY}-formats", text["title"], desc)


_LOOKS = {
    "attention": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid"},
    "last": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2))},
}


def length(language: str) -> str:
    """Chart how often both models are right, against the words that stand after the date."""
    text = texts(__file__, "length", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 240)
        axes = chart.panel(figure, 42, 26, 232, 174)
        figure.text(0, 1 - 6 / 240, text["y"], weight="bold", va="top")
        figure.text(154 / 400, 8 / 240, text["x"], ha="center", va="baseline")
        axes.set_xlim(-0.6, EXTRA[-1] + 0.6)
        chart.set_ticks(axes, "x", {words: str(words) for words in EXTRA})
        axes.set_ylim(0, 1.06)
        chart.set_ticks(axes, "y", {share / 4: f"{25 * share}%" for share in range(5)})
        axes.axvline(2, color=chart.INK, linewidth=1, linestyle=(0, (1, 2)))
        axes.text(2.4, 0.55, text["seen"], ha="left", va="bottom")
        for name, attends in (("attention", True), ("last", False)):
            found = right_after(attends=attends)
            look = _LOOKS[name] | {"linewidth": 2, "markersize": 5, "markeredgewidth": 0}
            axes.plot(list(found), list(found.values()), **look, gid=f"part:{name}")
            end = found[EXTRA[-1]]
            axes.text(EXTRA[-1] + 1.2, end, text[name], ha="left", va="center")
        desc = text["desc"].format(**numbers())
        return chart.finish(figure, f"{KEY}-length", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "one-line": one_line,
    "formats": formats,
    "length": length,
}
