"""Figures of the chapter on self-attention in four steps."""

import math
from collections.abc import Callable
from typing import NamedTuple

import drawsvg
import matplotlib.style
import torch
from torch import Tensor

from attn_docs import attention_weights, scaled_dot_product_attention
from attn_docs.sentence import WORDS, embeddings, projections
from docs._kit import chart
from docs._kit.draw import (
    ACCENT_2,
    INK,
    SHADE,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import SIZES

KEY = "self-attention-four-steps"
X = embeddings().double()
IT = WORDS.index("it")
W_Q, W_K, W_V = (matrix.double() for matrix in projections(6.0))
COINS = ("11011", "11101", "01111", "10111", "11110")  # a row for each query: 0 is dropped
KEEP = torch.tensor([[float(coin) for coin in row] for row in COINS]).double()
DROPOUT = 0.5
SHOWN = [WORDS.index("cat"), IT]  # queries in the maps of dropout
SOFTER = 1 / 3  # of the queries' length in the maps of dropout: no weight rounds to zero


def scores_of_it() -> Tensor:
    """Return the scaled scores of "it" with each key."""
    return X[IT] @ W_Q @ (X @ W_K).mT / math.sqrt(3)


def sentence_weights() -> Tensor:
    """Return the weights of the sentence, a row for each query."""
    return attention_weights(X @ W_Q, X @ W_K)


def rows_of_it() -> dict[str, Tensor]:
    """Return the mean that "it" takes, what the fourth matrix makes of it, and the sum."""
    mean = scaled_dot_product_attention(X[[IT]] @ W_Q, X @ W_K, X @ W_V)[0]
    wide = mean @ W_V.T
    return {"mean": mean, "wide": wide, "input": X[IT], "sum": X[IT] + wide}


def widened(language: str) -> str:
    """Draw how the mean of four columns becomes eight wide and is added to the word."""
    text = texts(__file__, "widened", language)
    left, width, height = 96, 38, 22
    drawing = canvas(400, 150)
    for column, feature in enumerate(text["features"]):
        x = left + (column + 0.5) * width
        write(drawing, feature, x, 28 if column % 2 else 10, 11)
    for index, (name, numbers) in enumerate(rows_of_it().items()):
        top = 40 + 26 * index + (4 if name == "sum" else 0)
        start = left + (8 - len(numbers)) * width  # the mean stands below the meanings
        group = drawsvg.Group(data_row=name)
        cells(group, [(SHADE * numbers / numbers.max()).tolist()], start, top, width, height)
        for column, number in enumerate(numbers.tolist()):
            said = f"{number:.2f}" if number % 1 else f"{number:.0f}"
            write(group, said, start + (column + 0.5) * width, top + height / 2, 11)
        drawing.append(group)
        bold = "bold" if name == "sum" else "normal"
        at = {"text_anchor": "end", "font_weight": bold}
        write(drawing, text[name], left - 6, top + height / 2, 11, **at)
    drawing.append(drawsvg.Line(0, 119, 400, 119, stroke=INK, stroke_width=1.5))
    desc = text["desc"].format(**{name: _say(r[None], 2) for name, r in rows_of_it().items()})
    return finish(drawing.as_svg(header=""), f"{KEY}-widened", text["title"], desc, zoom=1.6)


def _say(matrix: Tensor, digits: int) -> str:
    rows = (", ".join(f"{number:.{digits}f}" for number in row) for row in matrix.tolist())
    return "; ".join(rows)


def dropout_maps() -> dict[str, Tensor]:
    """Return the weights without dropout, with it on the weights, with it on the scores."""
    scores = (X @ W_Q) @ (X @ W_K).mT / math.sqrt(3) * SOFTER
    factor = KEEP / (1 - DROPOUT)
    weights = torch.softmax(scores, dim=-1)
    return {
        "none": weights,
        "weights": weights * factor,
        "scores": torch.softmax(scores * factor, dim=-1),
    }


def dropout(language: str) -> str:
    """Draw what the same coins do to the weights, thrown after the softmax and before it."""
    text = texts(__file__, "dropout", language)
    maps = dropout_maps()
    drawing = canvas(336, 296)
    down, right, total = text["axes"]
    left, width, height, n = 60, 40, 20, len(WORDS)
    for index, (name, weights) in enumerate(maps.items()):
        top = 46 + 94 * index
        write(drawing, text[name], left + n / 2 * width, top - 36, font_weight="bold")
        write(drawing, down, left - 8, top - 12, 11, text_anchor="end")
        write(drawing, right, left + n * width + 8, top - 12, 11, text_anchor="start")
        group = drawsvg.Group(data_map=name)
        shades = SHADE * weights[SHOWN] / max(found.max() for found in maps.values())
        cells(group, shades.tolist(), left, top, width, height)
        for column, word in enumerate(WORDS):
            write(drawing, word, left + (column + 0.5) * width, top - 12, 11)
        for place, row in enumerate(SHOWN):
            middle = top + (place + 0.5) * height
            write(drawing, WORDS[row], left - 8, middle, 11, text_anchor="end")
            said = f"{total} {weights[row].sum():.2f}"
            write(drawing, said, left + n * width + 8, middle, 11, text_anchor="start")
            for column in range(n):
                x = left + column * width
                if name != "none" and not KEEP[row, column]:
                    frame = {"fill": "none", "stroke": ACCENT_2, "stroke_width": 2.5}
                    box = (x + 2, middle - height / 2 + 2, width - 4, height - 4)
                    group.append(drawsvg.Rectangle(*box, **frame, data_dropped=f"{row},{column}"))
                write(group, f"{weights[row, column]:.2f}", x + width / 2, middle, 11)
        drawing.append(group)
    write(drawing, text["frame"], left + n / 2 * width, 288, 11)
    sums = ", ".join(f"{total:.2f}" for total in maps["weights"][SHOWN].sum(-1).tolist())
    desc = text["desc"].format(**{name: _say(w[SHOWN], 2) for name, w in maps.items()}, sums=sums)
    return finish(drawing.as_svg(header=""), f"{KEY}-dropout", text["title"], desc, zoom=1.5)


class Ratio(NamedTuple):
    """One line of the measured table."""

    rows: int
    size: int
    forward: float
    both: float


def measured() -> list[Ratio]:
    """Return the measured ratios of time, a size each."""
    found = load(__file__)["fused"]
    ratios = []
    for batch, words, size in SIZES:
        of = {"batch": batch, "words": words, "size": size}
        forward, both = (found("time", run=run, **of) for run in ("forward", "both"))
        ratios.append(Ratio(batch * words, size, forward, both))
    return ratios


def fused(language: str) -> str:
    """Chart the measured ratios of time, small sizes to large."""
    text = texts(__file__, "fused", language)
    found = measured()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 216)
        axes = chart.panel(figure, 34, 26, 294, 150)
        figure.text(0, 1 - 6 / 216, text["y"], weight="bold", va="top")
        axes.set_xlim(-0.4, len(found) - 0.6)
        labels = {i: f"{ratio.rows} × {ratio.size}" for i, ratio in enumerate(found)}
        chart.set_ticks(axes, "x", labels)
        top = math.ceil(2 * max(max(ratio[2:]) for ratio in found) + 0.5) / 2
        axes.set_ylim(0, top)
        chart.set_ticks(axes, "y", {i / 2: f"{i / 2:g}" for i in range(int(2 * top) + 1)})
        dots = {"color": chart.INK, "linestyle": (0, (1, 2)), "linewidth": 1.5}
        axes.plot(axes.get_xlim(), [1, 1], **dots, gid="part:equal")
        axes.text(-0.35, 0.9, text["equal"], va="top", gid="part:equal-label")
        for series, colour, marker, y in (
            ("forward", chart.ACCENT, "o", 0.5),
            ("both", chart.ACCENT_2, "s", 0.22),
        ):
            values = [getattr(ratio, series) for ratio in found]
            look = {"linestyle": "none", "markersize": 8, "markeredgewidth": 0}
            places = [i + (-0.08 if series == "forward" else 0.08) for i in range(len(found))]
            axes.plot(places, values, color=colour, marker=marker, **look, gid=f"part:{series}")
            axes.text(len(found) - 0.65, y, text[series], ha="right", va="center")
        figure.text(328 / 340, 6 / 216, text["x"], ha="right", va="baseline")
        said = {
            series: text["join"].join(
                text["says"].format(ratio=f"{getattr(r, series):.2f}", rows=r.rows, size=r.size)
                for r in found
            )
            for series in ("forward", "both")
        }
        return chart.finish(figure, f"{KEY}-fused", text["title"], text["desc"].format(**said))


def numbers() -> dict[str, str]:
    """Return when and with what the figure's times were measured."""
    found = load(__file__)["fused"]
    tools = (f"PyTorch {found.torch}", f"Python {found.python}", found.machine)
    return {"measured_on": found.date, "measured_with": ", ".join(tools)}


FIGURES: dict[str, Callable[[str], str]] = {
    "widened": widened,
    "dropout": dropout,
    "fused": fused,
}
