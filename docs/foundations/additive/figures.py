"""Figures of the chapter on additive attention."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from matplotlib.axes import Axes
from torch import Tensor

from attn_docs import AdditiveAttention
from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SHADE,
    arrow,
    box,
    canvas,
    finish,
    write,
)
from docs._kit.text import texts

KEY = "foundations-additive"
SIZES = {"q": "d_q", "k": "d_k"}  # as the page writes them
EXAMPLE = {"n": 3, "m": 5, "q": 4, "k": 2, "p": 4, "e": 2}


def block_diagram(language: str) -> str:
    """Draw the way from queries and keys to scores and output, with the shape on every arrow."""
    text = texts(__file__, "block-diagram", language)
    drawing = canvas(340, 492)
    middle, width, height = 112, 224, 32
    for name, shape, x in (("query", "nq", 1), ("key", "mk", 123), ("value", "me", 239)):
        _tensor(drawing, text[name], shape, x, 1)
    for left, name, shape in ((1, "q_proj", "np"), (123, "k_proj", "mp")):
        centre = left + 50
        arrow(drawing, (centre, 47), (centre, 71))
        box(drawing, left, 73, 100, height)
        write(drawing, name, centre, 89, 12, font_weight="bold")
        arrow(drawing, (centre, 107), (centre, 135))
        _shape(drawing, shape, centre + 8, 121, "")
    rows = (
        (text["add"], "nmp", "hidden"),
        ("tanh", "nmp", "hidden"),
        ("score_proj", "nm", "scores"),
        (text["normalise"], "nm", "weights"),
        (text["mix"], "", ""),
    )
    for index, (operation, shape, result) in enumerate(rows):
        y = 137 + 64 * index
        box(drawing, 1, y, width - 2, height)
        write(drawing, operation, middle, y + height / 2, 12, font_weight="bold")
        if shape:
            arrow(drawing, (middle, y + height + 2), (middle, y + 62))
            _shape(drawing, shape, middle + 14, y + height + 16, text[result])
    y = 137 + 64 * 4
    arrow(drawing, (289, 47), (289, y + height / 2), (width + 2, y + height / 2))
    arrow(drawing, (middle, y + height + 2), (middle, y + height + 20))
    _tensor(drawing, text["output"], "ne", middle - 50, y + height + 22)
    desc = text["desc"].format(**EXAMPLE)
    return finish(drawing.as_svg(header=""), f"{KEY}-block-diagram", text["title"], desc)


def _tensor(drawing: drawsvg.Drawing, name: str, shape: str, x: float, y: float) -> None:
    """Draw an input or output: an outlined box with its name and its shape."""
    box(drawing, x, y, 100, 44, fill="none", stroke=INK, stroke_width=1.25)
    _grid(drawing, shape, x + 10, y + 22)
    write(drawing, name, x + 36, y + 14, text_anchor="start", font_weight="bold")
    write(
        drawing,
        " × ".join(SIZES.get(letter, letter) for letter in shape),
        x + 36,
        y + 31,
        12,
        text_anchor="start",
    )


def _shape(drawing: drawsvg.Drawing, shape: str, x: float, y: float, name: str) -> None:
    """Write beside an arrow what goes along it."""
    _grid(drawing, shape, x, y)
    offset = 44 if len(shape) == 3 else 30
    write(drawing, name + " × ".join(shape), x + offset, y, 12, text_anchor="start")


def _grid(drawing: drawsvg.Drawing, shape: str, x: float, y: float) -> None:
    """Draw a small matrix of that shape, or as many behind each other as the last axis is long."""
    rows, columns = (EXAMPLE[letter] for letter in shape[:2])
    depth = EXAMPLE[shape[2]] if len(shape) == 3 else 1
    cell, group = 4.5, drawsvg.Group(data_shape=shape)
    width, height, top = columns * cell, rows * cell, y - rows * cell / 2
    for layer in reversed(range(depth)):  # from the back to the front
        left, high = x + 3 * layer, top + 1.5 * (depth - 1) - 3 * layer
        lines = drawsvg.Path(fill=ACCENT, fill_opacity=SHADE, stroke=INK, stroke_width=0.75)
        lines.M(left, high).h(width).v(height).h(-width).Z()
        if layer == 0:
            for row in range(1, rows):
                lines.M(left, high + row * cell).h(width)
            for column in range(1, columns):
                lines.M(left + column * cell, high).v(height)
        group.append(lines)
    drawing.append(group)


STEPS = (-2, -1, 0, 1, 2)


def scores() -> dict[str, Tensor]:
    """Return both scores of queries and keys of one number each, rows the queries."""
    numbers = torch.tensor(STEPS, dtype=torch.float64)[None, :, None]
    attend = AdditiveAttention(query_dim=1, key_dim=1, hidden_dim=1).double().requires_grad_(False)
    for parameter in attend.parameters():
        parameter.fill_(1.0)
    return {"additive": attend.score(numbers, numbers)[0], "dot": (numbers @ numbers.mT)[0]}


def score_maps(language: str) -> str:
    """Draw the additive score and the dot product over queries and keys of one number."""
    text = texts(__file__, "score-maps", language)
    drawing = canvas(340, 384)
    for name, matrix, top in zip(("additive", "dot"), scores().values(), (0, 196), strict=True):
        group = drawsvg.Group(data_score=name)
        _score_map(group, matrix, top, text, text[name])
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-score-maps", text["title"], text["desc"])


def _score_map(
    group: drawsvg.Group, matrix: Tensor, top: float, text: dict[str, str], name: str
) -> None:
    left, width, height = 52, 57, 26
    write(group, name, left, top + 8, text_anchor="start", font_weight="bold")
    write(group, f"{text['query']} ↓", 0, top + 32, 12, text_anchor="start")
    write(group, f"{text['key']} →", 336, top + 8, 12, text_anchor="end")
    largest = matrix.abs().max().item()
    for row, line in enumerate(matrix.tolist()):
        y = top + 46 + row * height
        write(group, _number(STEPS[row]), left - 14, y + height / 2, 12, text_anchor="end")
        write(group, _number(STEPS[row]), left + (row + 0.5) * width, top + 32, 12)
        for column, score in enumerate(line):
            x = left + column * width
            look = {
                "fill": ACCENT if score > 0 else ACCENT_2,
                "fill_opacity": round(SHADE * abs(score) / largest, 4),
                "stroke": INK,
                "stroke_opacity": 0.35,
            }
            group.append(drawsvg.Rectangle(x, y, width, height, **look))
            label = f"{score:.2f}" if score % 1 else f"{score:.0f}"
            write(group, _number(label), x + width / 2, y + height / 2, 12)


def _number(number: object) -> str:
    return str(number).replace("-", "−")  # a minus, not a hyphen


NOUN, OTHER = -1.0, -2.0  # what a key adds to the sum in unit 1
QUERIES = {"wants": 1.0, "other": 0.0}  # what a query adds


def gain(query: float, *, bent: bool) -> float:
    """Return by how much a noun leads another word for a query, with tanh or on a straight line."""
    sums = torch.tensor([NOUN + query, OTHER + query], dtype=torch.float64)
    noun, other = (sums.tanh() if bent else sums).tolist()
    return float(noun - other)


def bend(language: str) -> str:
    """Chart one hidden unit as a straight line and as tanh, and what a noun gains on each."""
    text = texts(__file__, "bend", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 226)
        for index, bent in enumerate((False, True)):
            left, name = 24 + 190 * index, "tanh" if bent else "line"
            figure.text(left / 400, 1 - 6 / 226, text[name], weight="bold", va="top")
            _plot_bend(chart.panel(figure, left, 28, 178, 156), text, bent=bent)
            figure.text((left + 178) / 400, 4 / 226, text["x"], ha="right", va="baseline")
        gains = {
            f"{name}_{'tanh' if bent else 'line'}": f"{gain(query, bent=bent):.2g}"
            for name, query in QUERIES.items()
            for bent in (False, True)
        }
        return chart.finish(figure, f"{KEY}-bend", text["title"], text["desc"].format(**gains))


_BEND_LOOKS = {"wants": (chart.ACCENT, "solid"), "other": (chart.ACCENT_2, (0, (3, 1.5)))}
_BEND_NAMES = {
    # where the name of a query stands, on the straight line and on tanh
    "wants": ((-1.15, -0.45), (-1.15, -0.3)),
    "other": ((-1.8, -1.35), (-1.3, -1.35)),
}


def _plot_bend(axes: Axes, text: dict[str, str], *, bent: bool) -> None:
    axes.set_xlim(-3.3, 1.0)
    axes.set_ylim(-2.4, 0.4)
    for which in ("x", "y"):
        chart.set_ticks(
            axes, which, {number: f"{number}".replace("-", "−") for number in (-2, -1, 0)}
        )
    line = torch.linspace(-3.3 if bent else -2.4, 0.4, 61, dtype=torch.float64)
    name = "tanh" if bent else "line"
    curve = line.tanh() if bent else line
    axes.plot(line.tolist(), curve.tolist(), color=chart.INK, linewidth=1.5, gid=f"part:{name}")
    for query, value in QUERIES.items():
        ends = torch.tensor([OTHER + value, NOUN + value], dtype=torch.float64)
        low, high = (ends.tanh() if bent else ends).tolist()
        first, last = ends.tolist()
        colour, dashes = _BEND_LOOKS[query]
        look = {"color": colour, "linestyle": dashes, "linewidth": 2}
        part = f"part:{name}-{query}"
        axes.plot([first, last, last], [low, low, high], **look, gid=part)
        label = f"+{gain(value, bent=bent):.{2 if bent else 0}f}"
        flat = high - low < 0.5  # below the step of the other query
        y, align = (high - 0.07, "top") if flat else ((low + high) / 2, "center")
        axes.text(last + 0.07, y, label, va=align, gid=f"{part}-gain")
        x, y = _BEND_NAMES[query][bent]
        axes.text(x, y, text[query], ha="right", gid=f"{part}-name")


FIGURES: dict[str, Callable[[str], str]] = {
    "bend": bend,
    "block-diagram": block_diagram,
    "score-maps": score_maps,
}
