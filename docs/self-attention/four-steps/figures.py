"""Figures of the chapter on self-attention in four steps."""

import math
from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import attention_weights, scaled_dot_product_attention
from attn_docs.sentence import WORDS, embeddings, projections
from docs._kit.draw import (
    ACCENT_2,
    INK,
    SHADE,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.text import texts

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
    left, width, height = 92, 37, 22
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
    drawing.append(drawsvg.Line(0, 119, 390, 119, stroke=INK, stroke_width=1.5))
    desc = text["desc"].format(**{name: _say(r[None], 2) for name, r in rows_of_it().items()})
    return finish(drawing.as_svg(header=""), f"{KEY}-widened", text["title"], desc, zoom=1.4)


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


FIGURES: dict[str, Callable[[str], str]] = {
    "widened": widened,
    "dropout": dropout,
}
