"""Figures of the chapter on cross-attention."""

from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import attention_weights, padding_mask
from docs._kit.draw import (
    INK,
    SHADE,
    arrow,
    box,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.text import texts

from .tables import sequence_weights

KEY = "heads-cross-attention"
TARGET, SOURCE = ("feles", "dormit"), ("the", "cat", "sleeps")
TARGET_LENGTH, SOURCE_LENGTH, PADDED = 3, 1, 3


def two_sequences(language: str) -> str:
    """Draw how two sequences become one output, with every shape."""
    text = texts(__file__, "two_sequences", language)
    weights = sequence_weights()
    drawing = canvas(360, 426)
    for x, width, name, shape in ((1, 108, "x", "n"), (141, 206, text["context"], "m")):
        box(drawing, x, 1, width, 44, fill="none", stroke=INK, stroke_width=1.25)
        write(drawing, name, x + width / 2, 15, font_weight="bold")
        size = "D" if shape == "n" else "c"
        write(drawing, f"{shape} × {size}", x + width / 2, 32, 12)
    for middle, name, letter, shape in (
        (55, "q_proj", "Q", "n × d"),
        (192, "k_proj", "K", "m × d"),
        (296, "v_proj", "V", "m × e"),
    ):
        arrow(drawing, (middle, 47), (middle, 67))
        box(drawing, middle - 51, 69, 102, 30, lit=True)
        bold = {"font_weight": "bold"}
        write(drawing, name, middle, 84, fill="var(--figure-on-accent)", **bold)
        write(drawing, f"{letter}, {shape}", middle + 6, 121, 12, text_anchor="start")
    for middle in (55, 192):
        arrow(drawing, (middle, 101), (middle, 143))
    box(drawing, 1, 145, 249, 30)
    write(drawing, text["weigh"], 125, 160)
    arrow(drawing, (167, 177), (167, 197))
    _grid(drawing, weights, text)
    arrow(drawing, (167, 304), (167, 324))
    box(drawing, 1, 326, 249, 30)
    write(drawing, text["mix"], 125, 341)
    arrow(drawing, (296, 101), (296, 341), (252, 341))
    arrow(drawing, (125, 358), (125, 378))
    box(drawing, 65, 380, 120, 44, fill="none", stroke=INK, stroke_width=1.25)
    write(drawing, text["output"], 125, 394, font_weight="bold")
    write(drawing, "n × e", 125, 411, 12)
    outer, inner = text["join"]
    rows = outer.join(
        text["row"].format(query=query, weights=inner.join(f"{w:.4f}" for w in row))
        for query, row in zip(TARGET, weights.tolist(), strict=True)
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-two-sequences", text["title"], desc)


def _grid(drawing: drawsvg.Drawing, weights: Tensor, text: dict) -> None:
    left, top, width, height = 84, 234, 55, 34
    write(drawing, f"{text['key']} →", left + 1.5 * width, 207, 12)
    write(drawing, f"{text['query']} ↓", left - 8, 224, 12, text_anchor="end")
    cells(drawing, (SHADE * weights / weights.max()).tolist(), left, top, width, height)
    for column, word in enumerate(SOURCE):
        write(drawing, word, left + (column + 0.5) * width, 224, font_weight="bold")
    for row, word in enumerate(TARGET):
        middle = top + (row + 0.5) * height
        write(drawing, word, left - 8, middle, text_anchor="end", font_weight="bold")
        for column in range(len(SOURCE)):
            number = f"{weights[row, column]:.4f}"
            write(drawing, number, left + (column + 0.5) * width, middle, 12)


def mask_weights() -> tuple[Tensor, Tensor]:
    """Return the weights of equal scores with the target's mask and with the source's."""
    query, key = torch.zeros(1, PADDED, 4), torch.zeros(1, PADDED, 4)
    wrong, right = (
        attention_weights(query, key, padding_mask([length], PADDED)[:, None])[0]
        for length in (TARGET_LENGTH, SOURCE_LENGTH)
    )
    return wrong, right


def whose_padding(language: str) -> str:
    """Draw where the weights go with each of the two masks."""
    text = texts(__file__, "whose_padding", language)
    drawing = canvas(360, 172)
    width, height, top = 48, 34, 68
    grids = mask_weights()
    for left, name, weights in zip((58, 214), ("target", "source"), grids, strict=True):
        write(drawing, text[name], left + 1.5 * width, 10, font_weight="bold")
        write(drawing, f"{text['key']} →", left + 1.5 * width, 32, 12)
        group = drawsvg.Group(data_mask=name)
        cells(group, (SHADE * weights).tolist(), left, top, width, height)
        for column in range(PADDED):
            kind = "word" if column < SOURCE_LENGTH else "padding"
            write(drawing, text[kind], left + (column + 0.5) * width, 56, 12)
            for row in range(PADDED):
                middle = (left + (column + 0.5) * width, top + (row + 0.5) * height)
                write(group, f"{weights[row, column]:.2f}", *middle, 12)
        drawing.append(group)
    write(drawing, f"{text['query']} ↓", 50, 56, 12, text_anchor="end")
    for row in range(PADDED):
        middle = top + (row + 0.5) * height
        write(drawing, f"{text['word']} {row}", 50, middle, 12, text_anchor="end")
    wrong, right = (text["join"].join(f"{w:.2f}" for w in grid[0].tolist()) for grid in grids)
    desc = text["desc"].format(n=TARGET_LENGTH, wrong=wrong, right=right)
    return finish(drawing.as_svg(header=""), f"{KEY}-whose-padding", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "two-sequences": two_sequences,
    "whose-padding": whose_padding,
}
