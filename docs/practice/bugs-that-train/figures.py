"""Figures of the chapter on bugs that train."""

import functools
from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, INK, canvas, finish, write
from docs._kit.text import texts

from .bugs import (
    COLUMNS,
    QUIZ,
    ROW,
    SECTIONS,
    bugs_of,
    dependence,
    last,
    losses,
    taken,
    training,
    verdicts,
)

KEY = "practice-bugs-that-train"
PITCH, GAP, SIZE = 13.6, 6, 9  # of the columns of a matrix, between its blocks, of a filled cell
LINE, WIDTH = 18, 310  # of its legend
# what holds is no miss, so it is drawn as what it is: nothing to see
LOOKS: dict[str, dict[str, object]] = {
    "fail": {"fill": ACCENT},
    "pass": {"fill": INK, "fill_opacity": 0.45},
    "no verdict": {"fill": "none", "stroke": INK},
}

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


def cells_of(name: str) -> list[str]:
    """Return the verdict of each column: the shape test, the loss, the properties."""
    loss = "fail" if training(name).kind == "breaks" else "pass"
    # the figure tells what caught a bug from what held; what was not judged did neither
    shown = {
        column: verdict if verdict in LOOKS else "no verdict"
        for column, verdict in zip(COLUMNS, verdicts(name), strict=True)
    }
    return ["pass", loss, *(shown[column] for column in columns_of(section_of(name)))]


def section_of(name: str) -> str:
    """Return the section of the page in which a bug stands."""
    return next(section for section in SECTIONS if name in bugs_of(section))


@functools.cache
def columns_of(section: str) -> list[str]:
    """Return the properties that catch a bug of a section: a phone has no room for those that hold.

    What they were made for stands here as well, whether or not it catches one.
    """
    caught = {
        column
        for name in bugs_of(section)
        for column, verdict in zip(COLUMNS, verdicts(name), strict=True)
        if verdict == "fail"
    }
    return [column for column in COLUMNS if column in caught or column in SECTIONS[section]]


def column_places(section: str) -> list[float]:
    """Return where each column's middle is; a gap parts the blocks."""
    places, x, block = [], 8.0, ""
    for column in ("shape", "trains", *columns_of(section)):
        of = next((key for key, shown in SECTIONS.items() if column in shown), "")
        x += GAP if of != block else 0
        places.append(x)
        x, block = x + PITCH, of
    return places


def matrix(language: str, section: str) -> str:
    """Draw which check catches which bug of a section of the page."""
    text = texts(__file__, "matrix", language)
    names = bugs_of(section)
    top, row_height = 116, 28
    below = top + row_height * len(names) + 14
    places = column_places(section)
    drawing = canvas(max(WIDTH, places[-1] + SIZE), below + 2 * LINE + 8)
    headings = (text["shape"], text["trains"], *columns_of(section))
    for x, heading in zip(places, headings, strict=True):
        write(
            drawing, heading, 0, 0, 11, text_anchor="start",
            transform=f"translate({x:g},{top - 6}) rotate(-90)",
        )  # fmt: skip
    for index, name in enumerate(names):
        y = top + row_height * index
        write(drawing, name, 2, y + 8, 11, text_anchor="start", data_bug=name)
        drawing.append(_row(name, places, y + 21))
    _legend(drawing, text["legend"], below)
    rest = len(COLUMNS) - len(columns_of(section))
    said = text["rest"].format(rest=rest, count=len(COLUMNS))
    write(drawing, said, 2, below + 2 * LINE, 11, text_anchor="start")
    rows = text["join"].join(
        text["row"].format(
            name=name,
            caught=text["comma"].join(
                column
                for column, verdict in zip(COLUMNS, verdicts(name), strict=True)
                if verdict == "fail"
            ),
            loss=text["nan" if training(name).kind == "breaks" else "falls"],
        )
        for name in names
    )
    title = text["title"].format(section=text["sections"][section])
    desc = text["desc"].format(count=len(columns_of(section)), rest=said, rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-matrix-{section}", title, desc)


def _row(name: str, places: list[float], middle: float) -> drawsvg.Group:
    """Return the marks of a bug: one path for each verdict."""
    marks: dict[str, list[str]] = {verdict: [] for verdict in LOOKS}
    for x, verdict in zip(places, cells_of(name), strict=True):
        marks[verdict].append(_mark(verdict, x, middle))
    group = drawsvg.Group(data_row=name)
    for verdict, paths in marks.items():
        if paths:
            kind = verdict.replace(" ", "-")
            group.append(drawsvg.Path("".join(paths), **LOOKS[verdict], data_verdict=kind))
    return group


def _legend(drawing: drawsvg.Drawing, labels: list[str], y: float) -> None:
    """Say what the marks mean: two in a line, and the third below."""
    places = ((8.0, y), (96.0, y), (8.0, y + LINE))
    for verdict, label, (x, middle) in zip(LOOKS, labels, places, strict=True):
        drawing.append(drawsvg.Path(_mark(verdict, x, middle), **LOOKS[verdict]))
        write(drawing, label, x + 10, middle, 11, text_anchor="start")


def _mark(verdict: str, x: float, y: float) -> str:
    if verdict == "fail":
        return f"M{x - SIZE / 2:g} {y - SIZE / 2:g}h{SIZE}v{SIZE}h-{SIZE}z"
    if verdict == "pass":
        return f"M{x - 1.5:g} {y - 1.5:g}h3v3h-3z"
    return f"M{x - 2.5:g} {y:g}h5"


FIGURES: dict[str, Callable[[str], str]] = {
    "curves": curves,
    "maps": maps,
    **{f"matrix-{section}": functools.partial(matrix, section=section) for section in SECTIONS},
}
