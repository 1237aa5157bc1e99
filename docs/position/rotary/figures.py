"""Figures of the chapter on rotary position embedding."""

import cmath
import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from matplotlib.axes import Axes
from torch import Tensor

from attn_docs import apply_rotary
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, ON_ACCENT, box, canvas, circle, finish, write
from docs._kit.text import texts

from .tables import MODELS, Model, turned_once, wavelengths

KEY = "position-rotary"
QUERY, KEY_VECTOR = (3.0, 1.0), (2.0, 1.0)
PLACES = ((1, 2), (2, 3), (3, 1))  # of "cat", of "chased"
UNIT = 17.5
DIAL_DIM, DIAL_PAIRS, DIAL_POSITIONS = 64, (0, 8, 16, 24, 31), (0, 1, 6, 63, 628)
SIZE = 8
CARRY_DIM, NEAR, FAR = 64, 24, 4096
HALVES = {"fast": slice(0, 16), "slow": slice(16, 32)}


def rotated(vector: tuple[float, ...], position: int, *, theta: float = 10000.0) -> list[float]:
    """Return a vector rotated by its position."""
    x = torch.tensor(vector, dtype=torch.float64).view(1, 1, 1, -1)
    return apply_rotary(x, torch.tensor([position]), theta=theta).flatten().tolist()


def _needle(parent: drawsvg.Group, x: float, y: float, tip: complex, **attributes: object) -> None:
    """Draw a vector from (x, y), with a dot at its end; upwards is positive."""
    end = (x + tip.real, y - tip.imag)
    parent.append(drawsvg.Line(x, y, *end, stroke_width=2, **attributes))
    dot = drawsvg.Rectangle(end[0] - 3, end[1] - 3, 6, 6, rx=3, fill=attributes["stroke"])
    parent.append(dot)


def _sector(
    parent: drawsvg.Group, x: float, y: float, radius: float, start: complex, end: complex
) -> None:
    """Mark the smaller angle between two directions."""
    if cmath.phase(end / start) < 0:
        start, end = end, start
    first, last = (radius * z / abs(z) for z in (start, end))
    path = drawsvg.Path(fill=INK, fill_opacity=0.14, data_sector=1)
    path.M(x, y).L(x + first.real, y - first.imag)
    path.A(radius, radius, 0, 0, 0, x + last.real, y - last.imag).Z()
    parent.append(path)


def hands(cat: int, chased: int) -> tuple[complex, complex]:
    """Return the rotated query of "chased" and the rotated key of "cat"."""
    return complex(*rotated(QUERY, chased)), complex(*rotated(KEY_VECTOR, cat))


def same_distance(language: str) -> str:
    """Draw query and key at three pairs of positions, as the function rotates them."""
    text = texts(__file__, "same", language)
    drawing, said = canvas(396, 250), []
    for label, colour, left in ((text["query"], ACCENT, 40), (text["key"], ACCENT_2, 220)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, label, left + 18, 10, 13, text_anchor="start")
    for index, (cat, chased) in enumerate(PLACES):
        x, y = 66 + 132 * index, 152
        query, key = hands(cat, chased)
        degrees = f"{abs(math.degrees(cmath.phase(query / key))):.0f}°"
        score = f"{(query * key.conjugate()).real:.2f}".replace("-", "−")
        group = drawsvg.Group(data_panel=index)
        for row, line in enumerate(text["sentences"][2 * index : 2 * index + 2]):
            write(group, line, x, 38 + 16 * row, 13, font_weight="bold")
        write(group, text["places"].format(cat=cat, chased=chased), x, 76, 12)
        circle(group, x, y, 10**0.5 * UNIT)
        _sector(group, x, y, 22, key, query)
        _needle(group, x, y, key * UNIT, stroke=ACCENT_2, data_vector="key")
        _needle(group, x, y, query * UNIT, stroke=ACCENT, data_vector="query")
        write(group, text["angle"].format(angle=degrees), x, 224, 12)
        write(group, text["score"].format(score=score), x, 241, 13, font_weight="bold")
        drawing.append(group)
        said.append(text["panel"].format(cat=cat, chased=chased, angle=degrees, score=score))
    desc = text["desc"].format(panels=text["join"].join(said))
    svg = drawing.as_svg(header="")
    return finish(svg, f"{KEY}-same-distance", text["title"], desc, zoom=1.2)


def dials(language: str) -> str:
    """Draw the hands of some pairs of a head of 64 dimensions at some positions."""
    text, radius = texts(__file__, "dials", language), 20
    drawing = canvas(396, 330)
    waves = wavelengths(10000.0, DIAL_DIM)
    x_of, y_of = (lambda column: 102 + 66 * column), (lambda row: 76 + 54 * row)
    write(drawing, text["one_turn"], 0, 32, 12, text_anchor="start")
    for column, pair in enumerate(DIAL_PAIRS):
        write(drawing, text["pair"].format(pair=pair), x_of(column), 12, 12, font_weight="bold")
        write(drawing, f"{waves[pair]:,.0f}", x_of(column), 32, 12)
    for row, position in enumerate(DIAL_POSITIONS):
        label = text["position"].format(position=position)
        write(drawing, label, 0, y_of(row), 12, text_anchor="start")
        numbers = rotated((1.0,) * 32 + (0.0,) * 32, position)
        for column, pair in enumerate(DIAL_PAIRS):
            group = drawsvg.Group(data_pair=pair, data_position=position)
            circle(group, x_of(column), y_of(row), radius)
            tip = complex(numbers[pair], numbers[pair + 32]) * radius
            _needle(group, x_of(column), y_of(row), tip, stroke=ACCENT, data_hand=1)
            drawing.append(group)
    svg = drawing.as_svg(header="")
    return finish(svg, f"{KEY}-dials", text["title"], text["desc"], zoom=1.05)


def pairs(*, interleaved: bool) -> list[tuple[int, int]]:
    """Find out from the function which dimensions of a head it mixes."""
    unit = torch.eye(SIZE, dtype=torch.float64).view(1, 1, SIZE, SIZE)
    mixed = apply_rotary(unit, torch.ones(SIZE, dtype=torch.int64), interleaved=interleaved)
    found = {tuple(row.nonzero().flatten().tolist()) for row in mixed[0, 0]}
    return sorted((a, b) for a, b in found)


def order() -> list[int]:
    """Return which dimension stands at each place of the half-split layout."""
    places = dict(
        zip(
            (place for pair in pairs(interleaved=False) for place in pair),
            (number for pair in pairs(interleaved=True) for number in pair),
            strict=True,
        )
    )
    return [places[place] for place in range(SIZE)]


def layouts(language: str) -> str:
    """Draw which dimensions form a pair in both layouts, and how one becomes the other."""
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
    svg = drawing.as_svg(header="")
    return finish(svg, f"{KEY}-layouts", text["title"], desc)


def carried(half: str, distances: Tensor) -> Tensor:
    """Return the score that half of the pairs give at each distance, when all agree at distance 1.

    Such a key is the query, rotated by one position.
    """
    query = torch.zeros(1, 1, 1, CARRY_DIM, dtype=torch.float64)
    query[..., HALVES[half]] = 1 / 16**0.5
    key = apply_rotary(query, torch.tensor([1]))
    queries = apply_rotary(query.expand(1, 1, len(distances), -1), distances)
    return (queries @ key.mT).flatten()


def _ticks(axes: Axes, panel: str) -> None:
    """Name the distances below a panel, and the scores beside the left one."""
    x = (1, 8, 16, 24) if panel == "near" else (0, 2048, 4096)
    chart.set_ticks(axes, "x", {at: f"{at:,}" for at in x})
    y = {-0.5: "−0.5", 0: "0", 0.5: "0.5", 1: "1"}
    chart.set_ticks(axes, "y", y if panel == "near" else dict.fromkeys(y, ""))


def _band(half: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Outline the lowest scores of each 64 tokens, and back along the highest."""
    scores, starts = (
        carried(half, torch.arange(FAR + 64)).view(-1, 64),
        torch.arange(0, FAR + 64, 64),
    )
    return torch.cat((starts, starts.flip(0))), torch.cat((scores.amin(1), scores.amax(1).flip(0)))


def carry(language: str) -> str:
    """Chart the score over the distance for the fast half of a head's pairs and the slow half."""
    text, (width, height) = texts(__file__, "carry", language), (400, 220)
    lines = {"fast": chart.ACCENT, "slow": chart.ACCENT_2}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        for panel, left, last in (("near", 32, NEAR), ("far", 222, FAR)):
            axes = chart.panel(figure, left, 30, 160, 144)
            axes.set_xlim(0, last)
            axes.set_ylim(-0.6, 1.08)
            _ticks(axes, panel)
            distances = torch.arange(0, last + 1, 1 if panel == "near" else 32)
            for half, colour in lines.items():
                gid = f"part:{panel}-{half}"
                if (panel, half) == ("far", "fast"):
                    axes.fill(*_band(half), facecolor=(colour, 0.4), lw=0, gid=gid)
                    continue
                axes.plot(distances, carried(half, distances), color=colour, lw=1.5, gid=gid)
                if panel == "near":
                    height_of = {"fast": 0.52, "slow": 0.86}[half]
                    axes.text(last, height_of, text[half], ha="right", va="center")
            middle = (left + 80) / width
            figure.text(middle, 1 - 14 / height, text[panel], ha="center", va="center")
        figure.text(32 / width, 1 - 208 / height, text["axes"], va="center")
        said = {
            f"{half}_{at}": f"{carried(half, torch.tensor([at])).item():.2f}"
            for half in HALVES
            for at in (2, 8, 2048)
        }
        return chart.finish(figure, f"{KEY}-carry", text["title"], text["desc"].format(**said))


def place(tokens: float) -> float:
    """Return where a number of tokens stands on the axis of the contexts, from left to right."""
    return 128 + 200 * math.log10(tokens / 5) / math.log10(1e7 / 5)


def _context(parent: drawsvg.Group, model: Model, y: float, text: dict[str, str]) -> None:
    """Draw one model's wavelengths, its context, and how many of its pairs turn within it."""
    write(parent, model.name, 0, y - 8, 12, text_anchor="start", font_weight="bold")
    settings = text["settings"].format(theta=f"{model.theta:,.0f}")
    write(parent, settings, 0, y + 8, 11, text_anchor="start")
    parent.append(drawsvg.Line(place(5), y, place(1e7), y, stroke=INK, stroke_opacity=0.25))
    waves = wavelengths(model.theta, model.rotary_dim).tolist()
    sides = {"inside": (ACCENT, 4), "outside": (ACCENT_2, 2)}
    for side, (colour, half) in sides.items():
        path = drawsvg.Path(fill="none", stroke=colour, stroke_width=1, data_side=side)
        for wave in waves:
            if (wave <= model.context) == (side == "inside"):
                path.M(place(wave), y - half).L(place(wave), y + half)
        parent.append(path)
    x = place(model.context)
    parent.append(
        drawsvg.Line(x, y - 14, x, y + 6, stroke=INK, stroke_width=2, data_context=model.context)
    )
    write(parent, f"{model.context:,}", x, y + 14, 11)
    share = text["share"].format(some=turned_once(model), all=model.rotary_dim // 2)
    write(parent, share, 396, y, 12, text_anchor="end")


def contexts(language: str) -> str:
    """Draw the wavelengths of named models' pairs beside the context that they were trained on."""
    text, step = texts(__file__, "contexts", language), 40
    bottom = 38 + step * len(MODELS)
    drawing, said = canvas(400, bottom + 18), []
    write(drawing, text["axis"], place(5), 12, 12, text_anchor="start")
    write(drawing, text["turned"], 396, 12, 12, text_anchor="end")
    for index, model in enumerate(MODELS):
        group = drawsvg.Group(data_model=model.name)
        _context(group, model, 46 + step * index, text)
        drawing.append(group)
        said.append(
            text["row"].format(
                name=model.name,
                theta=f"{model.theta:,.0f}",
                context=f"{model.context:,}",
                some=turned_once(model),
                all=model.rotary_dim // 2,
            )
        )
    for power, label in zip((1, 3, 5, 7), text["powers"], strict=True):
        write(drawing, label, place(10**power), bottom + 6, 11)
    desc = text["desc"].format(rows=text["join"].join(said))
    svg = drawing.as_svg(header="")
    return finish(svg, f"{KEY}-contexts", text["title"], desc, zoom=1.2)


FIGURES: dict[str, Callable[[str], str]] = {
    "same-distance": same_distance,
    "dials": dials,
    "carry": carry,
    "contexts": contexts,
    "layouts": layouts,
}
