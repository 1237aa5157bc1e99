"""Figures of the chapter on query, key and value by hand."""

from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import attention_weights
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SHADE,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.text import texts

from .tables import VALUES, WEIGHTS

KEY = "foundations-query-key-value"
WORDS = ("the", "cat", "sleeps")
QUERY = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0))


def attention_map(language: str) -> str:
    """Draw how much each word of "the cat sleeps" attends to each, the keys being one-hot."""
    text = texts(__file__, "attention-map", language)
    weights = attention_weights(torch.tensor(QUERY, dtype=torch.float64), torch.eye(3).double())
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
    "attention-map": attention_map,
    "weighted-mean": weighted_mean,
}
