"""Figures of the chapter on a whole model: its parts in their order, and time for a token."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import arrow, box, canvas, finish, write
from docs._kit.text import texts

from . import tables
from .benchmark import LENGTHS, STEPS

KEY = "checkpoints-whole-model"
_STREAM, _LEFT, _GAP, _HIGH = 24, 50, 6, 34
_RIGHT = 396
_TOP, _ATTENTION, _MLP = 42, 100, 176


def parts(language: str) -> str:
    """Draw the model's parts in the order in which a token's vector meets them."""
    text = texts(__file__, "parts", language)
    drawing = canvas(400, 326)
    write(drawing, text["tokens"], 0, 8, 12, text_anchor="start", font_weight="bold")
    frame = drawsvg.Rectangle(
        4, 72, 394, 172, rx=8, fill="none", stroke="currentColor", stroke_opacity=0.35
    )
    drawing.append(frame)
    write(drawing, text["layers"], _RIGHT - 6, 232, 12, text_anchor="end")
    for y, end in ((17, _TOP - 14), (_TOP + 14, 257), (285, 303)):
        arrow(drawing, (_STREAM, y), (_STREAM, end))
    for y, name in ((_TOP, "embedding"), (272, "unembedding")):
        box(drawing, 4, y - 13, 270, 26)
        write(drawing, text[name], 139, y, 12)
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
        for row, line in enumerate(lines):
            write(group, line, x + width / 2, y + (row - (len(lines) - 1) / 2) * 13, 11)
    below, end = y + _HIGH / 2 + 14, _RIGHT - 6 - width / 2
    arrow(group, (end, y + _HIGH / 2 + 1), (end, below), (_STREAM + 3, below))
    write(group, "+", _STREAM - 9, below, 14)
    drawing.append(group)


_LOOK = {
    "none": {"color": chart.INK, "marker": "^", "linestyle": (0, (1, 2))},
    "cache": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (3, 2))},
    "grouped": {"color": chart.ACCENT_2, "marker": "D", "linestyle": "solid"},
    "ring": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid"},
}
_MARKS = {"markersize": 5, "markeredgewidth": 0, "linewidth": 1.75}


def times() -> dict[str, list[float]]:
    """Return each step's milliseconds for a token, by length."""
    return {step: [tables.milliseconds(step, n) for n in LENGTHS] for step in STEPS}


def time(language: str) -> str:
    """Chart the milliseconds for one new token against the tokens so far."""
    text, found = texts(__file__, "time", language), times()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 250)
        figure.text(0, 1 - 8 / 250, text["y"], weight="bold", va="top")
        axes = chart.panel(figure, 40, 34, 256, 178)
        axes.set(xscale="log", yscale="log", xlim=(230, 4500), ylim=(3, 3000))
        chart.set_ticks(axes, "x", {n: f"{n:,}" for n in LENGTHS})
        chart.set_ticks(axes, "y", {y: f"{y:,}" for y in (10, 100, 1000)})
        for name, look in _LOOK.items():
            axes.plot(LENGTHS, found[name], **look, **_MARKS, gid=f"part:{name}")
            apart = {"cache": 1.5, "grouped": 0.95, "ring": 0.85}.get(name, 1)
            axes.text(4900, apart * found[name][-1], text[name], va="center")
        figure.text(296 / 400, 8 / 250, text["x"], ha="right", va="baseline")
        semicolon, comma = text["join"]
        rows = semicolon.join(
            text["row"].format(name=text[name], values=comma.join(f"{v:.1f}" for v in values))
            for name, values in found.items()
        )
        lengths = comma.join(f"{n:,}" for n in LENGTHS)
        desc = text["desc"].format(lengths=lengths, rows=rows)
        return chart.finish(figure, f"{KEY}-time", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"parts": parts, "time": time}
