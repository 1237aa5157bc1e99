"""Figures of the chapter on attention in tiles: four moments, and measured memory."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SOFT, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import FORMS, LENGTHS

KEY = "kernels-flash"
BLOCKS = 4
# moment: the tile that is made, whether its row's output is written, and if later keys are hidden
MOMENTS = {
    "first": ((0, 0), False, False),
    "next": ((0, 1), False, False),
    "end": ((0, 3), True, False),
    "causal": ((2, 1), False, True),
}
_PLACES = ((0, 0), (205, 0), (0, 190), (205, 190))
_SIDE, _STRIP = 26, 14
_COLOURS = {"explicit": chart.ACCENT_2, "tiles": chart.ACCENT, "torch": chart.INK}
_MARKS = {"explicit": "s", "tiles": "o", "torch": "x"}


def state_of(moment: str, row: int, column: int) -> str:
    """Return what has become of a tile: now, gone, skipped or open."""
    (now_row, now_column), _, causal = MOMENTS[moment]
    if (row, column) == (now_row, now_column):
        return "now"
    if causal and column > row:
        return "skipped"
    return "gone" if (row, column) < (now_row, now_column) else "open"


def tiles(language: str) -> str:
    """Draw four moments: what is in fast memory, what is gone, what is written, what skipped."""
    text = texts(__file__, "tiles", language)
    drawing = canvas(400, 374)
    for (moment, of), place, told in zip(MOMENTS.items(), _PLACES, text["told"], strict=True):
        group, (left, top) = drawsvg.Group(data_moment=moment), place
        write(group, text[moment], left + 90, top + 8, 13, font_weight="bold")
        write(group, text["keys"], left + 90, top + 25, 12)
        write(group, "Q", left + 6, top + 108, 12)
        write(group, "O", left + 182, top + 108, 12)
        _matrix(group, moment, left + 38, top + 56)
        _strips(group, of, left + 38, top + 56)
        write(group, told, left + 92, top + 174, 12)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-tiles", text["title"], text["desc"], zoom=1.7)


def _matrix(group: drawsvg.Group, moment: str, left: float, top: float) -> None:
    """Draw the tiles of scores: filled now, a dot where one is gone, a cross where skipped."""
    for row in range(BLOCKS):
        for column in range(BLOCKS):
            state = state_of(moment, row, column)
            x, y = left + column * _SIDE, top + row * _SIDE
            filled = {"fill": ACCENT if state == "now" else "none"}
            faint = {"stroke": INK, "stroke_opacity": 0.35, "data_state": state}
            group.append(drawsvg.Rectangle(x, y, _SIDE, _SIDE, **filled, **faint))
            if state == "gone":
                dot = _SIDE / 3
                corner = (x + dot, y + dot)
                group.append(drawsvg.Rectangle(*corner, dot, dot, rx=dot / 2, fill=INK))
            elif state == "skipped":
                write(group, "×", x + _SIDE / 2, y + _SIDE / 2, 15)


def _strips(
    group: drawsvg.Group, of: tuple[tuple[int, int], bool, bool], left: float, top: float
) -> None:
    """Draw queries, keys and values and output beside the tiles, filled where they are used."""
    (now_row, now_column), written, _ = of
    for block in range(BLOCKS):
        at, side = block * _SIDE, BLOCKS * _SIDE
        done = block < now_row or (written and block == now_row)
        strips = (
            (left - 22, top + at, _STRIP, _SIDE, ACCENT if block == now_row else SOFT, "q"),
            (left + at, top - 22, _SIDE, _STRIP, ACCENT if block == now_column else SOFT, "k"),
            (left + side + 8, top + at, _STRIP, _SIDE, ACCENT_2 if done else SOFT, "o"),
        )
        for *place, fill, name in strips:
            shown = {"fill": fill, "stroke": INK, "stroke_opacity": 0.35, "data_strip": name}
            group.append(drawsvg.Rectangle(*place, **shown))


def memory(language: str) -> str:
    """Draw the measured peak memory of the three forms against the length."""
    text, found = texts(__file__, "memory", language), load(__file__)["forms"]
    values = {
        name: [found("memory", form=name, length=length) for length in LENGTHS] for name in FORMS
    }
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 250)
        axes = chart.panel(figure, 50, 28, 335, 170)
        axes.set(xscale="log", yscale="log", xlim=(440, 4800), ylim=(0.3, 600))
        for name, series in values.items():
            drawn = {"color": _COLOURS[name], "marker": _MARKS[name], "linewidth": 2}
            (line,) = axes.plot(LENGTHS, series, **drawn)
            line.set_gid(f"part:{name}")
        axes.text(1300, values["explicit"][2] * 0.8, text["explicit"], ha="right", va="center")
        axes.text(1300, values["torch"][2] * 1.15, text["torch"], ha="right", va="center")
        axes.text(1500, values["tiles"][1] * 0.85, text["tiles"], ha="left", va="center")
        chart.set_ticks(axes, "x", {length: f"{length:,}" for length in LENGTHS})
        chart.set_ticks(axes, "y", {tick: f"{tick:,}" for tick in (1, 10, 100)})
        axes.text(0, 1.1, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.2, text["right"], transform=axes.transAxes, ha="right", va="center")
        told = {
            name: text["comma"].join(
                text["point"].format(value=value, length=f"{length:,}")
                for value, length in zip(series, LENGTHS, strict=True)
            )
            for name, series in values.items()
        }
        desc = text["desc"].format(**told)
        return chart.finish(figure, f"{KEY}-memory", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"tiles": tiles, "memory": memory}
