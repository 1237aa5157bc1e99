"""Figures of the chapter on attention in tiles: two moments, measured memory, bytes moved."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SHADE, SOFT, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import FORMS, LENGTHS
from .tables import HBM, SIZE, TILE_ROWS, TOKENS, explicit_moved, moved_gib, tiles_moved

KEY = "kernels-flash"
BLOCKS = 4
# moment: the tile that is made, and whether later keys are hidden
MOMENTS = {
    "full": ((1, 2), False),
    "causal": ((2, 1), True),
}
_PLACES = (0, 205)
_SIDE, _STRIP = 26, 14
_LEGEND = (ACCENT, ACCENT_2, "gone", "×")
_COLOURS = {"explicit": chart.ACCENT_2, "tiles": chart.ACCENT, "torch": chart.INK}
_MARKS = {"explicit": "s", "tiles": "o", "torch": "x"}


def state_of(moment: str, row: int, column: int) -> str:
    """Return what has become of a tile: now, gone, skipped or open."""
    (now_row, now_column), causal = MOMENTS[moment]
    if (row, column) == (now_row, now_column):
        return "now"
    if causal and column > row:
        return "skipped"
    return "gone" if (row, column) < (now_row, now_column) else "open"


def tiles(language: str) -> str:
    """Draw two moments: what is in fast memory, what is gone, what is written, what skipped."""
    text = texts(__file__, "tiles", language)
    drawing = canvas(400, 214)
    for (moment, of), left in zip(MOMENTS.items(), _PLACES, strict=True):
        group, top = drawsvg.Group(data_moment=moment), 0
        write(group, text[moment], left + 90, top + 8, 13, font_weight="bold")
        write(group, text["keys"], left + 90, top + 25, 12)
        write(group, "Q", left + 6, top + 108, 12)
        write(group, "O", left + 182, top + 108, 12)
        _matrix(group, moment, left + 38, top + 56)
        _strips(group, of, left + 38, top + 56)
        drawing.append(group)
    for index, (mark, told) in enumerate(zip(_LEGEND, text["legend"], strict=True)):
        _legend(drawing, mark, told, 10 + 205 * (index % 2), 182 + 22 * (index // 2))
    return finish(drawing.as_svg(header=""), f"{KEY}-tiles", text["title"], text["desc"], zoom=1.4)


def _legend(drawing: drawsvg.Drawing, mark: str, told: str, left: float, y: float) -> None:
    """Say what a colour or a mark means."""
    if mark in (ACCENT, ACCENT_2):
        look = {"fill": mark, "stroke": INK, "stroke_opacity": 0.35}
        drawing.append(drawsvg.Rectangle(left, y - 7, 14, 14, **look))
    elif mark == "gone":
        drawing.append(drawsvg.Rectangle(left + 3, y - 4, 8, 8, rx=4, fill=INK))
    else:
        write(drawing, mark, left + 7, y, 15)
    write(drawing, told, left + 22, y, 12, text_anchor="start")


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
    group: drawsvg.Group, of: tuple[tuple[int, int], bool], left: float, top: float
) -> None:
    """Draw queries, keys and values and output beside the tiles, filled where they are used."""
    (now_row, now_column), _ = of
    for block in range(BLOCKS):
        at, side = block * _SIDE, BLOCKS * _SIDE
        done = block < now_row
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


_PAIR, _FULL, _LEFT = 34, 250, 78  # height of two bars, width of the longest, where they start


def traffic(language: str) -> str:
    """Draw what both forms load and store, by the height of a tile, and what the HBM moves."""
    text = texts(__file__, "bars", language)
    drawing, told = canvas(400, 24 + _PAIR * (len(TILE_ROWS) + 1) + 66), []
    of = {"explicit": explicit_moved, "tiles": tiles_moved}
    pairs = [
        (str(rows), {form: moved_gib(count(TOKENS, SIZE, rows)) for form, count in of.items()})
        for rows in TILE_ROWS
    ]
    unit = _FULL / pairs[0][1]["explicit"]
    write(drawing, text["all"], 0, 10, 12, text_anchor="start", font_weight="bold")
    for index, (rows, pair) in enumerate(pairs):
        top = 24 + index * _PAIR
        write(drawing, text["rows"].format(rows=rows), 0, top + 14, 12, text_anchor="start")
        _bars(drawing, rows, pair, top, unit)
        told.append(text["row"].format(rows=rows, **pair))
    top = 24 + len(pairs) * _PAIR + 10
    write(drawing, text["hbm"], 0, top + 8, 12, text_anchor="start", font_weight="bold")
    hbm = {form: moved_gib(count) for form, count in HBM.items()}
    _bars(drawing, "hbm", hbm, top + 20, unit)
    for form, left in (("explicit", _LEFT), ("tiles", _LEFT + 130)):
        square = (left, top + 64, 12, 12)
        drawing.append(drawsvg.Rectangle(*square, fill=_FILLS[form], fill_opacity=SHADE))
        write(drawing, text[form], left + 18, top + 70, 12, text_anchor="start")
    desc = text["desc"].format(rows=text["comma"].join(told), **hbm)
    return finish(drawing.as_svg(header=""), f"{KEY}-traffic", text["title"], desc, zoom=1.25)


_FILLS = {"explicit": ACCENT_2, "tiles": ACCENT}


def _bars(
    drawing: drawsvg.Drawing, name: str, pair: dict[str, float], top: float, unit: float
) -> None:
    """Draw two bars that start at zero, with what they amount to."""
    for index, (form, amount) in enumerate(pair.items()):
        place = (_LEFT, top + 14 * index, unit * amount, 12)
        look = {"fill": _FILLS[form], "fill_opacity": SHADE, "data_form": form, "data_of": name}
        drawing.append(drawsvg.Rectangle(*place, **look))
        shown = f"{amount:.1f} GiB" if name == "hbm" else f"{amount:.0f} GiB"
        end = _LEFT + unit * amount + 5
        write(drawing, shown, end, top + 14 * index + 6, 11, text_anchor="start")


FIGURES: dict[str, Callable[[str], str]] = {
    "tiles": tiles,
    "memory": memory,
    "traffic": traffic,
}
