"""Figures of the chapter on bugs that train."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, INK, canvas, finish, write
from docs._kit.text import texts

from .bugs import QUIZ, ROW, dependence, last, losses, taken

KEY = "practice-bugs-that-train"
# of a map: the size of a cell, the least share that is drawn, and where the first one begins
CELL, LEAST, FIRST = 12, 0.06, 18


def smooth(values: tuple[float, ...]) -> list[float]:
    """Return the mean of each loss and up to two before and after."""
    windows = (values[max(0, i - 2) : i + 3] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def curves(language: str) -> str:
    """Chart the losses of the four layers of the maps side by side."""
    text = texts(__file__, "curves", language)
    width, height = 352, 142
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        for index, (letter, name) in enumerate(QUIZ.items()):
            left = 20 + 84 * index
            end = text["ends"].format(letter=letter, last=f"{last(losses(name)):.1f}")
            figure.text(left / width, 1 - 6 / height, end, weight="bold", va="top", size=12)
            axes = chart.panel(figure, left, 28, 70, 70)
            axes.set_xlim(0, 61)
            axes.set_ylim(0, 3.3)
            chart.set_ticks(axes, "x", {1: "1", 60: "60"})
            chart.set_ticks(axes, "y", {tick: "" if index else str(tick) for tick in range(4)})
            line = {"color": chart.ACCENT, "linewidth": 2}
            axes.plot(range(1, 61), smooth(losses(name)), **line, gid=f"part:{letter}")
        figure.text(20 / width, 1 - 124 / height, text["axes"], va="top")
        panels = text["join"].join(
            text["ends"].format(letter=letter, last=f"{last(losses(name)):.1f}")
            for letter, name in QUIZ.items()
        )
        start = f"{losses('right')[0]:.1f}"
        desc = text["desc"].format(start=start, panels=panels)
        return chart.finish(figure, f"{KEY}-curves", text["title"], desc)


def maps(language: str) -> str:
    """Draw which tokens each output depends on, in four layers without their names."""
    text = texts(__file__, "maps", language)
    side = CELL * len(ROW)
    drawing = canvas(352, 2 * (side + 58) + 6)
    for index, (letter, name) in enumerate(QUIZ.items()):
        left, top = FIRST + 182 * (index % 2), 42 + (side + 58) * (index // 2)
        write(drawing, letter, left, top - 30, 13, text_anchor="start", font_weight="bold")
        for place, token in enumerate(ROW):
            label, middle = str(token) if token else "\N{MIDDLE DOT}", CELL * (place + 0.5)
            write(drawing, label, left + middle, top - 9, 11)
            if left == FIRST:
                write(drawing, label, left - 8, top + middle, 11)
        drawing.append(_map(name, left, top))
    write(drawing, text["axes"], FIRST, 2 * (side + 58) - 4, 11, text_anchor="start")
    told = text["join"].join(
        text["panel"].format(letter=letter, back=round(100 * back), later=round(100 * later))
        for letter, name in QUIZ.items()
        for back, later in [taken(name)]
    )
    desc = text["desc"].format(maps=told)
    return finish(drawing.as_svg(header=""), f"{KEY}-maps", text["title"], desc, zoom=1.3)


def _map(name: str, left: float, top: float) -> drawsvg.Group:
    """Return the cells of a map that can be seen, on a grid of lines."""
    group, side = drawsvg.Group(data_map=name), CELL * len(ROW)
    lines = "".join(
        f"M{left:g} {top + CELL * at:g}h{side:g}M{left + CELL * at:g} {top:g}v{side:g}"
        for at in range(len(ROW) + 1)
    )
    group.append(drawsvg.Path(lines, fill="none", stroke=INK, stroke_opacity=0.2))
    shares = drawsvg.Group(fill=ACCENT)
    for (row, column), share in seen(name).items():
        place = (left + CELL * column, top + CELL * row, CELL, CELL)
        where = {"data_row": row, "data_column": column}
        shares.append(drawsvg.Rectangle(*place, fill_opacity=f"{share:.2f}", **where))
    group.append(shares)
    return group


def seen(name: str) -> dict[tuple[int, int], float]:
    """Return the shares of a map that are large enough to be seen, by output and token."""
    shares = enumerate(dependence(name, ROW).tolist())
    every = {(row, column): share for row, line in shares for column, share in enumerate(line)}
    return {place: share for place, share in every.items() if share >= LEAST}


FIGURES: dict[str, Callable[[str], str]] = {"curves": curves, "maps": maps}
