"""Figures of the chapter on query, key and value by hand."""

import math
from collections.abc import Callable

import drawsvg
from torch import Tensor

from attn_docs import sentence
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SHADE,
    box,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.text import texts

from .tables import IT, SHARP, VALUES, WEIGHTS, of_it, weights_of

KEY = "foundations-query-key-value"
WORDS = sentence.WORDS[:3]


def arcs(language: str) -> str:
    """Draw what "it" takes from each word, and the key and the value of each."""
    text = texts(__file__, "arcs", language)
    weights = of_it(SHARP)[0].tolist()
    drawing = canvas(400, 262)
    places = [82 + 70 * index for index in range(len(sentence.WORDS))]
    for index, weight in enumerate(weights):
        _arc(drawing, places[IT], places[index], weight, data_word=index)
        write(drawing, f"{weight:.2f}", places[index], 132, 12)
        write(drawing, sentence.WORDS[index], places[index], 154, 15, font_weight="bold")
    for row, role in enumerate(("query", "key", "value")):
        write(drawing, text[role], 0, 184 + 32 * row, 12, text_anchor="start")
    box(drawing, places[IT] - 32, 172, 64, 24, fill="none", stroke=INK)
    write(drawing, text["asks"], places[IT], 184, 12)
    for index, x in enumerate(places):
        for row, what in enumerate((text["offers"][index], text["gives"][index])):
            write(drawing, what, x, 216 + 32 * row, 12, data_role=row)
    said = text["join"].join(
        text["weight"].format(word=word, weight=f"{weight:.2f}")
        for word, weight in zip(sentence.WORDS, weights, strict=True)
    )
    desc = text["desc"].format(weights=said)
    return finish(drawing.as_svg(header=""), f"{KEY}-arcs", text["title"], desc, zoom=1.6)


def _arc(drawing: drawsvg.Drawing, start: float, end: float, weight: float, **data: int) -> None:
    """Draw an arc above the words, as thick as its weight; to itself, a loop."""
    width = max(16 * weight, 0.6)
    look = {"stroke": ACCENT, "stroke_width": width, "stroke_opacity": 0.85, "fill": "none"}
    path = drawsvg.Path(**look, **data)
    if start == end:
        path.M(start - 6, 120).C(start - 30, 82, start + 30, 82, start + 6, 120)
    else:
        height = 120 - 0.7 * abs(end - start)
        path.M(start, 120).C(start, height, end, height, end, 120)
    drawing.append(path)


_PLANE = (56, 26, 280, 84)  # left, top, the length of 1 on both axes, the height
SHARPNESSES = (1.0, 2.0, 4.0, 6.0)


def moved(language: str) -> str:
    """Draw how far "it" is moved, in the plane of two meanings, as its query sharpens."""
    text = texts(__file__, "moved", language)
    left, top, unit, height = _PLANE
    floor = top + height
    drawing = canvas(400, floor + 46)
    for end in ((left + unit + 30, floor), (left, top - 10)):
        drawing.append(drawsvg.Line(left, floor, *end, stroke=INK, stroke_opacity=0.4))
    write(drawing, text["across"], left + unit / 2, floor + 36, 12)
    write(drawing, text["up"], left, top - 18, 12)
    for share in (0.5, 1):
        write(drawing, f"{share:g}", left + unit * share, floor + 14, 12)
    write(drawing, "0.25", left - 10, floor - unit / 4, 12, text_anchor="end")
    write(drawing, text["cat"], left + unit, floor + 36, 12, font_weight="bold")
    box(drawing, left + unit - 4, floor - 4, 8, 8, fill=ACCENT_2, rx=4)
    ends = []
    for sharpness in SHARPNESSES:
        _, animal, asleep, _ = of_it(sharpness)[1].tolist()
        tip = (left + unit * animal, floor - unit * asleep)
        _straight(drawing, (left, floor), tip, data_sharpness=sharpness)
        write(drawing, f"{text['times']}{sharpness:g}", tip[0] + 3, tip[1] - 13, 12)
        ends.append(text["end"].format(sharpness=f"{sharpness:g}", animal=animal, asleep=asleep))
    box(drawing, left - 4, floor - 4, 8, 8, fill=INK, rx=4)
    write(drawing, text["it"], left, floor + 18, 12, font_weight="bold")
    desc = text["desc"].format(ends=text["join"].join(ends))
    return finish(drawing.as_svg(header=""), f"{KEY}-moved", text["title"], desc, zoom=1.5)


def _straight(
    drawing: drawsvg.Drawing, start: tuple[float, float], tip: tuple[float, float], **data: float
) -> None:
    """Draw an arrow in any direction."""
    angle = math.atan2(tip[1] - start[1], tip[0] - start[0])
    wings = [
        (tip[0] - 9 * math.cos(angle + turn), tip[1] - 9 * math.sin(angle + turn))
        for turn in (0.4, -0.4)
    ]
    drawing.append(drawsvg.Line(*start, *tip, stroke=ACCENT, stroke_width=2, **data))
    drawing.append(drawsvg.Lines(*tip, *wings[0], *wings[1], close=True, fill=ACCENT))


def attention_map(language: str) -> str:
    """Draw how much each word of "the cat sleeps" attends to each."""
    text = texts(__file__, "attention-map", language)
    weights = weights_of(1.0, len(WORDS))
    left, top, width, height = 70, 50, 72, 44
    right = left + 3 * width
    drawing = canvas(340, top + 3 * height + 1)
    write(drawing, f"{text['query']} ↓", left - 12, 36, 12, text_anchor="end")
    write(drawing, f"{text['key']} →", left + 1.5 * width, 10, 12)
    write(drawing, text["sum"], right + 27, 36, 12)
    cells(drawing, (SHADE * weights / weights.max()).tolist(), left, top, width, height)
    for index, word in enumerate(WORDS):
        bold = {"font_weight": "bold"}
        middle = top + (index + 0.5) * height
        write(drawing, word, left + (index + 0.5) * width, 36, **bold)
        write(drawing, word, left - 12, middle, text_anchor="end", **bold)
        write(drawing, f"{weights[index].sum():g}", right + 27, middle, 12)
        for column in range(3):
            x = left + (column + 0.5) * width
            write(
                drawing, f"{weights[index, column]:.4f}", x, middle, data_cell=f"{index},{column}"
            )
    desc = text["desc"].format(rows=_say(weights, text))
    return finish(drawing.as_svg(header=""), f"{KEY}-attention-map", text["title"], desc)


def _say(weights: Tensor, text: dict) -> str:
    """Return the weights as sentences, one a query."""
    comma, stop = text["join"]
    return stop.join(
        text["row"].format(
            query=query,
            weights=comma.join(
                text["weight"].format(key=key, weight=f"{weight:.4f}")
                for key, weight in zip(WORDS, row, strict=True)
            ),
        )
        for query, row in zip(WORDS, weights.tolist(), strict=True)
    )


_SOURCES = (
    {"fill": ACCENT_2},
    {"fill": ACCENT},
    {"fill": INK, "fill_opacity": 0.5},
)
_UNIT = 84  # height of a bar that stands for 1


def weighted_mean(language: str) -> str:
    """Draw how the second query's weights mix three values into its output."""
    text = texts(__file__, "weighted-mean", language)
    weights, values = WEIGHTS[1].tolist(), VALUES.tolist()
    drawing = canvas(340, 320)
    for source, weight in enumerate(weights):
        _value(drawing, source, weight, values[source], text)
    shares = WEIGHTS[1][:, None] * VALUES
    _output(drawing, shares, text)
    desc = text["desc"].format(
        values=text["join"].join(
            text["value"].format(index=index, value=_list(value), weight=weight)
            for index, (value, weight) in enumerate(zip(values, weights, strict=True), 1)
        ),
        output=_list(shares.sum(0).tolist()),
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-weighted-mean", text["title"], desc)


def _value(
    drawing: drawsvg.Drawing, source: int, weight: float, value: list[float], text: dict
) -> None:
    """Draw one value as three outlined bars, filled up to its weight's share."""
    left, floor = 2 + 116 * source, 52 + _UNIT
    write(drawing, f"{text['name']} {source + 1}", left + 52, 8, font_weight="bold")
    write(drawing, f"{text['weight']} {weight:g}", left + 52, 28, 12)
    for component, number in enumerate(value):
        x = left + 3 + 34 * component
        place = {"data_source": source, "data_component": component}
        if number:
            outline = {"fill": "none", "stroke": INK, "stroke_opacity": 0.6}
            drawing.append(
                drawsvg.Rectangle(x, floor - _UNIT * number, 30, _UNIT * number, **outline)
            )
        height = _UNIT * number * weight
        drawing.append(
            drawsvg.Rectangle(x, floor - height, 30, height, **_SOURCES[source], **place)
        )
        write(drawing, f"{number:g}", x + 15, floor + 12, 12)
    drawing.append(drawsvg.Line(left, floor, left + 104, floor, stroke=INK))


def _output(drawing: drawsvg.Drawing, shares: Tensor, text: dict) -> None:
    """Draw the filled shares stacked into the output's three components."""
    floor = 190 + _UNIT
    write(drawing, text["output"], 170, 180, font_weight="bold")
    for component, column in enumerate(shares.T.tolist()):
        middle, level = 54 + 116 * component, float(floor)
        for source, share in enumerate(column):
            level -= _UNIT * share
            place = {"data_source": source, "data_component": component, "data_stacked": "true"}
            bar = (middle - 15, level, 30, _UNIT * share)
            drawing.append(drawsvg.Rectangle(*bar, **_SOURCES[source], **place))
        terms = " + ".join(f"{share:.2f}" if share else "0" for share in column)
        drawing.append(drawsvg.Line(middle - 52, floor, middle + 52, floor, stroke=INK))
        write(drawing, terms, middle, floor + 14, 11)
        write(drawing, f"= {sum(column):.2f}", middle, floor + 34, font_weight="bold")


def _list(numbers: list[float]) -> str:
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"


FIGURES: dict[str, Callable[[str], str]] = {
    "arcs": arcs,
    "attention-map": attention_map,
    "moved": moved,
    "weighted-mean": weighted_mean,
}
