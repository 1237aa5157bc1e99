"""Figures of the chapter on query, key and value by hand."""

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
    return finish(drawing.as_svg(header=""), f"{KEY}-arcs", text["title"], desc, zoom=1.35)


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


def words(language: str) -> str:
    """Draw the embeddings: a row a word, a column a feature, filled where there is a 1."""
    text = texts(__file__, "words", language)
    left, top, width, height = 62, 56, 38, 26
    drawing = canvas(400, top + 5 * height + 1)
    _ones(drawing, sentence.embeddings(), (left, top, width, height))
    for index, word in enumerate(sentence.WORDS):
        middle = top + (index + 0.5) * height
        write(drawing, word, left - 8, middle, text_anchor="end", font_weight="bold")
    for index, feature in enumerate(text["header"][1:]):
        middle = left + (index + 0.5) * width
        write(drawing, feature, middle, 44 if index % 2 else 27, 12)
    for half, name in enumerate(("kinds", "meanings")):
        write(drawing, text[name], left + (4 * half + 2) * width, 9, 12, font_weight="bold")
    line = {"stroke": INK, "stroke_width": 2}
    middle = left + 4 * width
    drawing.append(drawsvg.Line(middle, top - 4, middle, top + 5 * height, **line))
    return finish(drawing.as_svg(header=""), f"{KEY}-words", text["title"], text["desc"], zoom=1.3)


def _ones(
    drawing: drawsvg.Drawing, matrix: Tensor, place: tuple[float, float, float, float], **data: str
) -> None:
    """Draw a matrix of zeros and ones as cells, the ones filled and written."""
    left, top, width, height = place
    rows, columns = matrix.shape
    lines = drawsvg.Path(fill="none", stroke=INK, stroke_opacity=0.35)
    for row in range(rows + 1):
        lines.M(left, top + row * height).h(columns * width)
    for column in range(columns + 1):
        lines.M(left + column * width, top).v(rows * height)
    drawing.append(lines)
    group = drawsvg.Group(fill=ACCENT, fill_opacity=SHADE, **data)
    for row, column in matrix.nonzero().tolist():
        x, y = left + column * width, top + row * height
        group.append(drawsvg.Rectangle(x, y, width, height, data_row=row, data_column=column))
        write(drawing, "1", x + width / 2, y + height / 2, 12)
    drawing.append(group)


_COLUMNS = (204, 264, 324)  # where the columns of query, key and value begin
_CELL = 18


def roles(language: str) -> str:
    """Draw the embeddings times the three matrices: queries, keys and values of all words."""
    text = texts(__file__, "roles", language)
    features = texts(__file__, "words", language)["header"][1:]
    left, top, below = 46, 92, 92 + 8 * _CELL + 92
    drawing = canvas(400, below + 5 * _CELL + 4)
    x = sentence.embeddings()
    _ones(drawing, x, (left, below, _CELL, _CELL), data_matrix="x")
    for index, feature in enumerate(features):
        _upright(drawing, feature, left + (index + 0.5) * _CELL, below - 6)
        y = top + (index + 0.5) * _CELL
        write(drawing, feature, _COLUMNS[0] - 6, y, 11, text_anchor="end")
    for index, word in enumerate(sentence.WORDS):
        write(drawing, word, left - 4, below + (index + 0.5) * _CELL, 11, text_anchor="end")
    for role, matrix in enumerate(sentence.projections()):
        column, wide = _COLUMNS[role], matrix.size(1) * _CELL
        _ones(drawing, matrix, (column, top, _CELL, _CELL), data_matrix="QKV"[role])
        _ones(drawing, x @ matrix, (column, below, _CELL, _CELL), data_matrix="qkv"[role])
        write(drawing, "W", column + wide / 2 - 5, 10, 14, font_weight="bold")
        write(drawing, "QKV"[role], column + wide / 2 + 7, 15, 11, font_weight="bold")
        write(drawing, text["roles"][role], column + wide / 2, below - 18, 12, font_weight="bold")
        names = features[4:] if role == 2 else features[:3]  # the values' columns are meanings
        for index, name in enumerate(names):
            _upright(drawing, name, column + (index + 0.5) * _CELL, top - 6)
        _frame(drawing, column, below + IT * _CELL, wide)
        _frame(drawing, column, top + 3 * _CELL, wide)  # the row of "pronoun"
    _frame(drawing, left, below + IT * _CELL, 8 * _CELL)
    return finish(drawing.as_svg(header=""), f"{KEY}-roles", text["title"], text["desc"], zoom=1.25)


def _upright(drawing: drawsvg.Drawing, name: str, x: float, y: float) -> None:
    """Write a column's name upwards from its head."""
    turned = {"transform": f"rotate(-90 {x:g} {y:g})", "text_anchor": "start"}
    write(drawing, name, x, y, 11, **turned)


def _frame(drawing: drawsvg.Drawing, x: float, y: float, width: float) -> None:
    """Outline a row of cells."""
    outline = {"fill": "none", "stroke": ACCENT_2, "stroke_width": 2.5}
    drawing.append(drawsvg.Rectangle(x, y, width, _CELL, **outline))


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
    drawing = canvas(400, 158)
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
    return finish(drawing.as_svg(header=""), f"{KEY}-weighted-mean", text["title"], desc, zoom=1.5)


def _value(
    drawing: drawsvg.Drawing, source: int, weight: float, value: list[float], text: dict
) -> None:
    """Draw one value as three outlined bars, filled up to its weight's share."""
    left, floor = 2 + 97 * source, 50 + _UNIT
    write(drawing, f"{text['name']} {source + 1}", left + 46, 8, font_weight="bold")
    write(drawing, f"{text['weight']} {weight:g}", left + 46, 28, 12)
    for component, number in enumerate(value):
        x = left + 3 + 30 * component
        place = {"data_source": source, "data_component": component}
        if number:
            outline = {"fill": "none", "stroke": INK, "stroke_opacity": 0.6}
            drawing.append(
                drawsvg.Rectangle(x, floor - _UNIT * number, 26, _UNIT * number, **outline)
            )
        height = _UNIT * number * weight
        drawing.append(
            drawsvg.Rectangle(x, floor - height, 26, height, **_SOURCES[source], **place)
        )
        write(drawing, f"{number:g}", x + 13, floor + 13, 12)
    drawing.append(drawsvg.Line(left, floor, left + 92, floor, stroke=INK))


def _output(drawing: drawsvg.Drawing, shares: Tensor, text: dict) -> None:
    """Draw the filled shares stacked into the output's three components."""
    left, floor = 295, 50 + _UNIT
    write(drawing, text["output"], left + 51, 8, font_weight="bold")
    for component, column in enumerate(shares.T.tolist()):
        x, level = left + 4 + 34 * component, float(floor)
        for source, share in enumerate(column):
            level -= _UNIT * share
            place = {"data_source": source, "data_component": component, "data_stacked": "true"}
            bar = (x, level, 26, _UNIT * share)
            drawing.append(drawsvg.Rectangle(*bar, **_SOURCES[source], **place))
        write(drawing, f"{sum(column):.2f}", x + 13, floor + 13, 12, font_weight="bold")
    drawing.append(drawsvg.Line(left, floor, left + 102, floor, stroke=INK))


def _list(numbers: list[float]) -> str:
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"


FIGURES: dict[str, Callable[[str], str]] = {
    "arcs": arcs,
    "attention-map": attention_map,
    "roles": roles,
    "weighted-mean": weighted_mean,
    "words": words,
}
