"""Figures of the chapter on stable and online softmax."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import drawsvg
import matplotlib.style
import torch

from attn_docs.sentence import MEANINGS, WORDS, embeddings, projections
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, SHADE, canvas, finish, write
from docs._kit.text import texts

from .tables import COUNTS, DTYPES, ORDER_BLOCK, ORDERS, edge, order_errors

KEY = "kernels-softmax"
BLOCKS = (("the", "cat"), ("sleeps", "it"), ("dreams",))
LARGEST = 8  # e to the power of the largest score of "cat"


# --- the range of the exponential ---------------------------------------------------------------

_LEFT, _TOP, _PITCH, _UNIT = 74, 30, 34, 1.5
_LOWEST, _HIGHEST = -112, 100


def ranges(language: str) -> str:
    """Draw for which scores the exponential is neither zero nor infinite, by format."""
    text = texts(__file__, "ranges", language)
    drawing, floor, rows = canvas(400, 168), _TOP + 3 * _PITCH, []
    zero, low_end = _across(0), _across(_LOWEST)
    drawing.append(
        drawsvg.Rectangle(low_end, _TOP - 8, zero - low_end, 3 * _PITCH + 8, fill_opacity=0.07)
    )
    for index, dtype in enumerate(DTYPES):
        name, y = str(dtype).removeprefix("torch."), _TOP + (index + 0.5) * _PITCH - 4
        low, high = edge(dtype, upper=False), edge(dtype, upper=True)
        place = (_across(low), y - 9, _UNIT * (high - low), 18)
        look = {"fill": ACCENT, "fill_opacity": SHADE, "stroke": INK, "stroke_opacity": 0.35}
        drawing.append(
            drawsvg.Rectangle(*place, **look, data_format=name, data_low=low, data_high=high)
        )
        write(drawing, name, 0, y, 12, text_anchor="start")
        write(drawing, text["zero"], _across(low) - 8, y, 12)
        write(drawing, "∞", _across(high) + 9, y, 13)
        rows.append(text["row"].format(name=name, low=low, high=high))
    for score in (-100, -50, 0, 50):
        x = _across(score)
        drawing.append(drawsvg.Line(x, _TOP - 8, x, floor, stroke=INK, stroke_opacity=0.25))
        write(drawing, f"{score}".replace("-", "−"), x, floor + 12, 12)
    write(drawing, text["score"], _across(78), floor + 12, 12)
    desc = text["desc"].format(rows=text["comma"].join(rows))
    return finish(drawing.as_svg(header=""), f"{KEY}-ranges", text["title"], desc, zoom=1.4)


def _across(score: float) -> float:
    return _LEFT + (score - _LOWEST) * _UNIT


# --- the worked example ------------------------------------------------------------------------


class State(NamedTuple):
    """What the online softmax of "cat" holds after a block, and what the block brought."""

    scores: list[float]
    powers: list[Fraction]
    shrink: Fraction | None
    top: float
    total: Fraction
    mixed: list[Fraction]


def states() -> list[State]:
    """Return the states of the online softmax of "cat", one after each block."""
    x = embeddings().double()
    w_q, w_k, w_v = (w.double() for w in projections(sharpness=math.log(LARGEST)))
    scores, values = x[WORDS.index("cat")] @ w_q @ (x @ w_k).T, x @ w_v
    found: list[State] = []
    for end in (2, 4, 5):
        top = scores[:end].max().item()
        powers = torch.exp(scores[:end] - top)
        start = sum(map(len, BLOCKS[: len(found)]))
        shrink = _fraction(math.exp(found[-1].top - top)) if found else None
        mixed = [_fraction(each) for each in (powers @ values[:end]).tolist()]
        new = [_fraction(each) for each in powers[start:].tolist()]
        total = _fraction(powers.sum().item())
        found.append(State(scores[start:end].tolist(), new, shrink, top, total, mixed))
    return found


def _fraction(number: float) -> Fraction:
    return Fraction(number).limit_denominator(100)


_COLUMN, _FIRST, _ROW = 80, 78, 25
_ROWS = ("score", "top", "rescale", "power", "total", "mixed", *MEANINGS)
_HELD = ("top", "total", *MEANINGS)
_GAPS = {"top": 5, "total": 5, "mixed": 5}  # above these rows


def steps(language: str) -> str:
    """Draw what is held after each block, and the output."""
    text = texts(__file__, "steps", language)
    drawing, found = canvas(400, 312), states()
    for name in _ROWS:
        bold = {"font_weight": "bold"} if name in text and name in (*_HELD, "mixed") else {}
        write(drawing, text.get(name, name), 0, _height(name), 12, text_anchor="start", **bold)
    for column, (words, state) in enumerate(zip(BLOCKS, found, strict=True)):
        middle, width = _FIRST + (column + 0.5) * _COLUMN, _COLUMN / 2 - 6
        title = text["block"].format(number=column + 1)
        write(drawing, title, middle, 10, 12, font_weight="bold")
        write(drawing, ", ".join(words), middle, 28, 12)
        group = drawsvg.Group(data_block=column)
        for name, cell in _cells(state).items():
            _cell(group, name, cell, middle - width, 2 * width)
        drawing.append(group)
    last, group = _FIRST + 3.5 * _COLUMN + 2, drawsvg.Group(data_block="output")
    for name, each in zip(MEANINGS, found[-1].mixed, strict=True):
        _cell(group, name, str(each / found[-1].total), last - 34, 68)
    drawing.append(group)
    write(drawing, text["output"], last, _height("mixed"), 12, font_weight="bold")
    told = _told(text, found)
    return finish(drawing.as_svg(header=""), f"{KEY}-steps", text["title"], told, zoom=1.6)


def _cells(state: State) -> dict[str, str]:
    return {
        "score": ", ".join(map(_logarithm, state.scores)),
        "top": _logarithm(state.top),
        "rescale": "" if state.shrink is None else f"× {state.shrink}",
        "power": ", ".join(map(str, state.powers)),
        "total": str(state.total),
        **dict(zip(MEANINGS, map(str, state.mixed), strict=True)),
    }


def _cell(parent: drawsvg.Group, name: str, shown: str, x: float, width: float) -> None:
    if name in _HELD:
        place = (x, _height(name) - 11, width, 22)
        parent.append(drawsvg.Rectangle(*place, rx=3, fill=ACCENT, fill_opacity=0.22))
    write(parent, shown, x + width / 2, _height(name), 12, data_row=name)


def _height(name: str) -> float:
    row = _ROWS.index(name)
    return 52 + row * _ROW + sum(_GAPS.get(each, 0) for each in _ROWS[: row + 1])


def _told(text: dict[str, str], found: list[State]) -> str:
    told = [
        text["state"].format(
            number=number,
            top=_logarithm(state.top),
            total=state.total,
            mixed=text["comma"].join(map(str, state.mixed)),
        )
        for number, state in enumerate(found, start=1)
    ]
    shares = [str(each / found[-1].total) for each in found[-1].mixed]
    return text["desc"].format(states=text["stop"].join(told), output=text["comma"].join(shares))


def _logarithm(top: float) -> str:
    return f"ln {math.exp(top):.0f}" if top else "0"


# --- the order of adding -------------------------------------------------------------------------


def order(language: str) -> str:
    """Draw the error of a float32 sum against the number of keys, by the order of adding."""
    text, found = texts(__file__, "order", language), order_errors()
    names = {name: text[name].format(size=ORDER_BLOCK) for name in ORDERS}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 236)
        axes = chart.panel(figure, 34, 30, 266, 160)
        colours = {"one": chart.INK, "block": chart.ACCENT, "pairs": chart.ACCENT_2}
        for name in ORDERS:
            look = {"color": colours[name], "marker": "o", "markersize": 4, "markeredgewidth": 0}
            axes.plot(COUNTS, found[name], gid=f"part:{name}", linewidth=1.75, **look)
            place = (COUNTS[-1] * 1.25, found[name][-1])
            axes.text(*place, names[name], va="center", clip_on=False)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(0.3, 60)
        chart.set_ticks(axes, "x", {count: f"{count:,}" for count in (64, 1024, 16384)})
        chart.set_ticks(axes, "y", {level: f"{level:g}" for level in (0.5, 1, 2, 5, 10, 20, 50)})
        figure.text(0, 230 / 236, text["error"], va="top")
        figure.text(300 / 400, 6 / 236, text["count"], ha="right")
        rows = (
            text["row"].format(
                name=names[name],
                first=found[name][0],
                last=found[name][-1],
                start=COUNTS[0],
                end=COUNTS[-1],
            )
            for name in ORDERS
        )
        desc = text["desc"].format(rows=text["comma"].join(rows))
        return chart.finish(figure, f"{KEY}-order", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "ranges": ranges,
    "steps": steps,
    "order": order,
}
