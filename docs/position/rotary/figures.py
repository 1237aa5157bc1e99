"""Figures of the chapter on rotary position embedding."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from torch import Tensor

from attn_docs import apply_rotary
from docs._kit import chart
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
from docs._kit.text import texts

from .tables import THETAS

KEY = "position-rotary"
QUERY, KEY_VECTOR = (3.0, 1.0), (2.0, 1.0)
PLACES = ((1, 2), (2, 3), (2, 1))  # of "cat", of "sleeps"
TURNS, SLOW_THETA = 6, 16.0
SIZE = 8
MAP_POSITIONS, MAP_DIM, MAP_THETA = 16, 16, 100.0
CHART_THETAS = (100.0, THETAS["RoFormer"], THETAS["Llama 3"])
CHART_DIM, CHART_LENGTH = 128, 257


def turned(vector: tuple[float, ...], position: int, *, theta: float = 10000.0) -> list[float]:
    """Return a vector turned by its position."""
    x = torch.tensor(vector, dtype=torch.float64).view(1, 1, 1, -1)
    return apply_rotary(x, torch.tensor([position]), theta=theta).flatten().tolist()


def _circle(parent: drawsvg.Group, x: float, y: float, radius: float) -> None:
    path = drawsvg.Path(fill="none", stroke=INK, stroke_width=1, stroke_opacity=0.35)
    path.M(x + radius, y).A(radius, radius, 0, 1, 0, x - radius, y)
    path.A(radius, radius, 0, 1, 0, x + radius, y)
    parent.append(path)


def _needle(
    parent: drawsvg.Group, x: float, y: float, tip: tuple[float, float], **attributes: object
) -> None:
    """Draw a vector from (x, y); upwards is positive."""
    parent.append(drawsvg.Line(x, y, x + tip[0], y - tip[1], stroke_width=2, **attributes))


def scores() -> list[float]:
    """Return the score of each panel, from the turned vectors."""
    return [
        sum(a * b for a, b in zip(turned(QUERY, sleeps), turned(KEY_VECTOR, cat), strict=True))
        for cat, sleeps in PLACES
    ]


def same_distance(language: str) -> str:
    """Draw query and key at three pairs of positions, as the function turns them."""
    text, unit = texts(__file__, "same", language), 14
    drawing = canvas(340, 196)
    for label, colour, left in ((text["query"], ACCENT, 0), (text["key"], ACCENT_2, 150)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, label, left + 18, 10, 12, text_anchor="start")
    said = []
    for index, ((cat, sleeps), score) in enumerate(zip(PLACES, scores(), strict=True)):
        x, y = 54 + 116 * index, 108
        group = drawsvg.Group(data_panel=index)
        write(group, text["cat"].format(cat=cat), x, 36, 12)
        write(group, text["sleeps"].format(sleeps=sleeps), x, 51, 12)
        _circle(group, x, y, 10**0.5 * unit)
        for name, vector, position, colour in (
            ("query", QUERY, sleeps, ACCENT),
            ("key", KEY_VECTOR, cat, ACCENT_2),
        ):
            a, b = turned(vector, position)
            tip = (a * unit, b * unit)
            _needle(group, x, y, tip, stroke=colour, data_vector=name)
            group.append(drawsvg.Rectangle(x + tip[0] - 3, y - tip[1] - 3, 6, 6, rx=3, fill=colour))
        shown = f"{score:.2f}"
        bold = {"font_weight": "bold"}
        write(group, text["score"].format(score=shown), x, 172, 13, **bold)
        drawing.append(group)
        said.append(text["panel"].format(cat=cat, sleeps=sleeps, score=shown))
    desc = text["desc"].format(panels=text["join"].join(said))
    return finish(drawing.as_svg(header=""), f"{KEY}-same-distance", text["title"], desc)


def two_speeds(language: str) -> str:
    """Draw the pairs of a head of four numbers at six positions."""
    text, radius = texts(__file__, "turned", language), 56
    drawing = canvas(340, 172)
    for pair, name in enumerate(("first", "second")):
        x, y = 84 + 172 * pair, 98
        group = drawsvg.Group(data_pair=pair)
        write(group, text[name], x, 9, 13, font_weight="bold")
        _circle(group, x, y, radius)
        for position in range(TURNS):
            numbers = turned((1.0, 1.0, 0.0, 0.0), position, theta=SLOW_THETA)
            a, b = numbers[pair], numbers[pair + 2]
            _needle(
                group,
                x,
                y,
                (a * radius, b * radius),
                stroke=ACCENT,
                stroke_opacity=0.4 + 0.12 * position,
                data_position=position,
            )
            away = radius + 10
            write(group, str(position), x + a * away, y - b * away, 12)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-two-speeds", text["title"], text["desc"])


def pairs(*, interleaved: bool) -> list[tuple[int, int]]:
    """Find out from the function which numbers of a head it mixes."""
    unit = torch.eye(SIZE, dtype=torch.float64).view(1, 1, SIZE, SIZE)
    mixed = apply_rotary(unit, torch.ones(SIZE, dtype=torch.int64), interleaved=interleaved)
    found = {tuple(row.nonzero().flatten().tolist()) for row in mixed[0, 0]}
    return sorted((a, b) for a, b in found)


def order() -> list[int]:
    """Return which number stands at each place of the half-split layout."""
    places = dict(
        zip(
            (place for pair in pairs(interleaved=False) for place in pair),
            (number for pair in pairs(interleaved=True) for number in pair),
            strict=True,
        )
    )
    return [places[place] for place in range(SIZE)]


def layouts(language: str) -> str:
    """Draw which numbers form a pair in both layouts, and how one becomes the other."""
    text = texts(__file__, "layouts", language)
    drawing = canvas(340, 246)
    neighbours, halves, moved = pairs(interleaved=True), pairs(interleaved=False), order()
    middle = [22 + 42.3 * place for place in range(SIZE)]
    write(drawing, text["above"], 0, 9, 13, text_anchor="start", font_weight="bold")
    write(drawing, text["below"], 0, 234, 13, text_anchor="start", font_weight="bold")
    for place, number in enumerate(moved):
        lit = number in neighbours[0]
        line = {"stroke": ACCENT if lit else INK, "stroke_width": 2 if lit else 1}
        where = {"data_from": number, "data_to": place}
        drawing.append(drawsvg.Line(middle[number], 74, middle[place], 134, **line, **where))
    for row, y, numbers in (("above", 42, list(range(SIZE))), ("below", 136, moved)):
        group = drawsvg.Group(data_row=row)
        for place, number in enumerate(numbers):
            lit = number in neighbours[0]
            box(group, middle[place] - 16, y, 32, 30, lit=lit, rx=4)
            emphasis = {"fill": ON_ACCENT, "font_weight": "bold"} if lit else {}
            write(group, str(number), middle[place], y + 15, 14, **emphasis)
        drawing.append(group)
    for row, joined, foot, step in (("above", neighbours, 40, 0), ("below", halves, 168, 10)):
        for index, (a, b) in enumerate(joined):
            height = -12 if row == "above" else 12 + step * index
            lit = index == 0
            path = drawsvg.Path(
                fill="none",
                stroke=ACCENT if lit else INK,
                stroke_width=2 if lit else 1,
                data_bracket=f"{row} {a} {b}",
            )
            path.M(middle[a], foot).L(middle[a], foot + height)
            path.L(middle[b], foot + height).L(middle[b], foot)
            drawing.append(path)
    comma = text["comma"]
    desc = text["desc"].format(
        neighbours=comma.join(text["pair"].format(a=a, b=b) for a, b in neighbours),
        halves=comma.join(text["pair"].format(a=a, b=b) for a, b in halves),
        order=" ".join(map(str, moved)),
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-layouts", text["title"], desc)


def cosines() -> Tensor:
    """Return the cosines (position, pair) as the function applies them."""
    x = torch.zeros(1, 1, MAP_POSITIONS, MAP_DIM, dtype=torch.float64)
    x[..., : MAP_DIM // 2] = 1
    return apply_rotary(x, torch.arange(MAP_POSITIONS), theta=MAP_THETA)[0, 0, :, : MAP_DIM // 2]


def angles(language: str) -> str:
    """Draw the cosines as shaded cells."""
    text, (width, height) = texts(__file__, "angles", language), (26, 15)
    drawing = canvas(340, 308)
    left, top = 62, 58
    write(drawing, text["position"], 0, 40, 12, text_anchor="start")
    write(drawing, text["pair"], left, 20, 12, text_anchor="start")
    for pair in range(MAP_DIM // 2):
        write(drawing, str(pair), left + (pair + 0.5) * width, 46, 12)
    for position in range(MAP_POSITIONS):
        write(
            drawing, str(position), left - 8, top + (position + 0.5) * height, 11, text_anchor="end"
        )
    group = drawsvg.Group(data_part="map")
    shades = (cosines() + 1) / 2
    cells(group, shades.tolist(), left, top, width, height)
    drawing.append(group)
    legend = drawsvg.Group(data_part="legend")
    write(legend, text["cosine"], 310, 46, 12)
    for index, value in enumerate((1, 0.5, 0, -0.5, -1)):
        y = top + 20 * index
        cells(legend, [[(value + 1) / 2]], 288, y, width - 8, height)
        write(legend, f"{value:g}".replace("-", "−"), 309, y + 7.5, 11, text_anchor="start")
    drawing.append(legend)
    return finish(drawing.as_svg(header=""), f"{KEY}-angles", text["title"], text["desc"])


def score_by_distance(theta: float) -> Tensor:
    """Return the score of a vector of equal numbers with itself, for each distance."""
    x = torch.ones(1, 1, CHART_LENGTH, CHART_DIM, dtype=torch.float64) / CHART_DIM**0.5
    keys = apply_rotary(x, torch.arange(CHART_LENGTH), theta=theta)[0, 0]
    return keys @ keys[0]


def distance(language: str) -> str:
    """Chart the score against the distance for three θ."""
    text = texts(__file__, "chart", language)
    styles = (
        {"color": chart.INK, "linestyle": (0, (2, 2)), "linewidth": 1},
        {"color": chart.ACCENT, "linewidth": 1.5},
        {"color": chart.ACCENT_2, "linewidth": 1.5},
    )
    labels = ((-0.23, "top"), (0.2, "top"), (0.73, "bottom"))
    said = []
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 230)
        axes = chart.panel(figure, 36, 24, 290, 160)
        axes.set_xlim(0, CHART_LENGTH - 1)
        axes.set_ylim(-0.4, 1.05)
        chart.set_ticks(axes, "x", {at: str(at) for at in (0, 64, 128, 192, 256)})
        chart.set_ticks(axes, "y", {0: "0", 0.5: "0.5", 1: "1"})
        for theta, style, (height, side) in zip(CHART_THETAS, styles, labels, strict=True):
            score = score_by_distance(theta)
            axes.plot(range(CHART_LENGTH), score, **style, gid=f"part:theta-{theta:g}")
            axes.text(252, height, f"θ = {theta:,.0f}", ha="right", va=side)
            said.append(text["value"].format(score=score[-1].item(), theta=theta))
        figure.text(0, 1 - 12 / 230, text["score"], va="baseline")
        figure.text(326 / 340, 8 / 230, text["distance"], ha="right", va="baseline")
        desc = text["desc"].format(values=text["comma"].join(said))
        return chart.finish(figure, f"{KEY}-distance", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "same-distance": same_distance,
    "two-speeds": two_speeds,
    "angles": angles,
    "distance": distance,
    "layouts": layouts,
}
