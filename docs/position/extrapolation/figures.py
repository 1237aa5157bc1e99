"""Figures of the chapter on lengths beyond training: the tests, the curves, and a head's scores."""

from collections.abc import Callable
from typing import Any

import drawsvg
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attn_docs.position.extrapolation import TRAINED
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SOFT, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import LONGEST, PLACES
from .tables import mean, of_seeds, score_curves

KEY = "position-extrapolation"
# a panel for each test; in it a row for each kind, those with one cause of failure together
ROWS = ("alibi", "t5", "none", "learned", "sinusoidal", "rotary", "yarn")
MIDDLE = 64  # the length of the upright ticks between the dots
PANEL_LEFT, PANEL_WIDE, PANEL_PITCH = 90, 88, 107
_TOP, _ROW = 54, 22


def tests(language: str) -> str:
    """Draw where the first copy stands in each of the three tests."""
    text = texts(__file__, "tests", language)
    drawing, left, width, copy = canvas(400, 122), 60, 330, 12
    firsts = {"near": width - 3 * copy, "half": (width - copy) / 2, "start": 0}
    line = left + width / 8
    for row, place in enumerate(PLACES):
        group, top = drawsvg.Group(data_place=place), 30 + 32 * row
        write(group, text[place], left - 10, top + 9, 13, text_anchor="end")
        frame = {"fill": SOFT, "stroke": INK, "stroke_opacity": 0.35}
        group.append(drawsvg.Rectangle(left, top, width, 18, **frame))
        for at, fill in ((firsts[place], ACCENT), (width - copy, ACCENT_2)):
            group.append(drawsvg.Rectangle(left + at, top, copy, 18, fill=fill))
        if place == "start":
            ends = (("first", line + 6, "start"), ("second", left + width - copy - 8, "end"))
            for word, at, anchor in ends:
                write(group, text[word], at, top + 10, 12, text_anchor=anchor)
        drawing.append(group)
    dashes = {"stroke": INK, "stroke_width": 1.2, "stroke_dasharray": "4 3"}
    drawing.append(drawsvg.Line(line, 18, line, 116, **dashes))
    write(drawing, text["trained"], left, 10, 12, text_anchor="start")
    write(drawing, text["unseen"], left + width, 10, 12, text_anchor="end")
    return finish(drawing.as_svg(header=""), f"{KEY}-tests", text["title"], text["desc"], zoom=1.7)


def reach(language: str) -> str:
    """Draw the accuracy at 32, 64 and 256 tokens: a panel for each test, a row for each kind."""
    text, told, height = texts(__file__, "reach", language), {}, _TOP + _ROW * len(ROWS) + 40
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, height)
        _legend(figure, height, text)
        for number, place in enumerate(PLACES):
            left = PANEL_LEFT + PANEL_PITCH * number
            axes = chart.panel(figure, left, _TOP, PANEL_WIDE, _ROW * len(ROWS))
            axes.set(xlim=(0, 1), ylim=(len(ROWS) - 0.5, -0.5))
            ends = {kind: _row(axes, row, kind, place) for row, kind in enumerate(ROWS)}
            dots: dict[str, Any] = {"color": chart.ACCENT, "clip_on": False, "markersize": 6}
            first, last = zip(*ends.values(), strict=True)
            axes.plot(first, range(len(ROWS)), "D", markerfacecolor="none", **dots)
            axes.plot(last, range(len(ROWS)), "D", markeredgewidth=0, **dots)
            chart.set_ticks(axes, "x", {0: "0", 1: "1"})
            names = [text[kind] for kind in ROWS] if number == 0 else [""] * len(ROWS)
            chart.set_ticks(axes, "y", dict(enumerate(names)))
            axes.tick_params("both", pad=7)
            at = (left + PANEL_WIDE / 2) / 400
            figure.text(at, 1 - 42 / height, text[place], ha="center", va="center", weight="bold")
            figure.text(at, 6 / height, text["right"], ha="center", va="baseline")
            told[place] = _told(dict(zip(ends, last, strict=True)), text)
        return chart.finish(figure, f"{KEY}-reach", text["title"], text["desc"].format(**told))


def _legend(figure: Figure, height: float, text: Words) -> None:
    """Say what a hollow dot, a tick, a filled dot and a bar are."""
    axes = chart.panel(figure, 0, 0, 400, 24)
    axes.set(xlim=(0, 400), ylim=(24, 0))
    axes.set_axis_off()
    drawn: dict[str, Any] = {"color": chart.ACCENT, "clip_on": False}
    axes.plot([8], [12], "D", markerfacecolor="none", markersize=6, **drawn)
    axes.plot([100, 100], [7, 17], linewidth=1.8, **drawn)
    axes.plot([156], [12], "D", markersize=6, markeredgewidth=0, **drawn)
    axes.fill_between([268, 290], 8, 16, facecolor=(chart.ACCENT, 0.25), linewidth=0)
    for name, left in (("at_32", 18), ("at_64", 108), ("at_256", 166), ("seeds", 296)):
        figure.text(left / 400, 1 - 12 / height, text[name], va="center")


def _row(axes: Axes, row: int, kind: str, place: str) -> tuple[float, float]:
    """Draw from the mean at 32 tokens over that at 64 to that at 256; return the two ends."""
    found = load(__file__)["rules" if kind == "yarn" else "kinds"]
    of = {"rule" if kind == "yarn" else "kind": kind, "place": place}
    first, middle = (mean(found, length=length, **of) for length in (TRAINED, MIDDLE))
    seeds = of_seeds(found, length=LONGEST, **of)
    last = mean(found, length=LONGEST, **of)
    across = [min(seeds), max(seeds)]
    bar: dict[str, Any] = {"alpha": 0.25, "linewidth": 8.8, "solid_capstyle": "butt"}
    axes.plot(across, [row, row], color=chart.ACCENT, **bar)
    drawn: dict[str, Any] = {"color": chart.ACCENT, "clip_on": False}
    axes.plot([first, last], [row, row], linewidth=1.5, gid=f"part:{place}-{kind}", **drawn)
    tick = {**drawn, "linewidth": 1.8, "gid": f"part:{place}-{kind}-64"}
    axes.plot([middle, middle], [row - 0.25, row + 0.25], **tick)
    return first, last


def _told(values: dict[str, float], text: Words) -> str:
    pairs = (text["point"].format(kind=text[kind], value=v) for kind, v in values.items())
    told: str = text["join"].join(pairs)
    return told


def scores(language: str) -> str:
    """Draw the score of the shipped model's first head over the distance, under three rules."""
    text, curves = texts(__file__, "scores", language), score_curves()
    tops = {name: values.index(max(values)) for name, values in curves.items()}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 274)
        for number, (name, values) in enumerate(curves.items()):
            top, high = ((42, 54), (129, 26), (188, 54))[number]
            axes = chart.panel(figure, 30, top, 354, high)
            axes.set(xlim=(0, LONGEST - 1), ylim=(0, 8))
            axes.axvspan(0, TRAINED - 1, color=chart.ACCENT, alpha=0.12, linewidth=0)
            drawn: dict[str, Any] = {"color": chart.ACCENT, "linewidth": 1.5, "gid": f"part:{name}"}
            axes.plot(range(LONGEST), [max(value, 0) for value in values], **drawn)
            at = tops[name]
            axes.axhline(values[1], color=chart.INK, linewidth=0.6)
            axes.plot([at], [values[at]], "o", color=chart.ACCENT_2, markersize=5)
            lowest = number == len(curves) - 1
            ticks = {d: str(d) if lowest else "" for d in (0, 31, 128, 255)}
            chart.set_ticks(axes, "x", ticks)
            chart.set_ticks(axes, "y", {0: "0", 5: "5"})
            figure.text(30 / 400, (274 - top + 9) / 274, text[name], va="center", weight="bold")
            said = {"place": at, "high": values[at], "one": values[1]}
            highest = text["highest" if at > 1 else "first"].format(**said)
            figure.text(384 / 400, (274 - top + 9) / 274, highest, ha="right", va="center")
        figure.text(384 / 400, 8 / 274, text["right"], ha="right", va="baseline")
        figure.text(0, 1 - 8 / 274, text["up"], va="center")
        figure.text(34 / 400, 8 / 274, text["trained"], ha="left", va="baseline")
        desc = text["desc"].format(**tops)
        return chart.finish(figure, f"{KEY}-scores", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"tests": tests, "reach": reach, "scores": scores}
