"""Figures of the chapter on cross-attention."""

from collections.abc import Callable, Sequence

import drawsvg
import torch
from torch import Tensor

from attn_docs import attention_weights, padding_mask
from attn_docs.sentence import WORDS
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

from .tables import LATIN, learned, sequence_weights

KEY = "heads-cross-attention"
TARGET_LENGTH, SOURCE_LENGTH, PADDED = 3, 1, 3


def two_sequences(language: str) -> str:
    """Draw how two sequences become one output, with every shape."""
    text = texts(__file__, "two_sequences", language)
    weights = sequence_weights()
    drawing = canvas(390, 452)
    for x, width, name, shape in (
        (1, 108, text["target"], "n × D"),
        (141, 236, text["context"], "m × Dₖᵥ"),
    ):
        box(drawing, x, 1, width, 44, fill="none", stroke=INK, stroke_width=1.25)
        write(drawing, name, x + width / 2, 15, font_weight="bold")
        write(drawing, shape, x + width / 2, 32, 12)
    for middle, name, letter, shape in (
        (55, "q_proj", "Q", "n × d"),
        (195, "k_proj", "K", "m × d"),
        (323, "v_proj", "V", "m × e"),
    ):
        arrow(drawing, (middle, 47), (middle, 67))
        box(drawing, middle - 51, 69, 102, 30, lit=True)
        bold = {"font_weight": "bold"}
        write(drawing, name, middle, 84, fill="var(--figure-on-accent)", **bold)
        write(drawing, f"{letter}, {shape}", middle + 6, 121, 12, text_anchor="start")
    for middle in (55, 195):
        arrow(drawing, (middle, 101), (middle, 143))
    for line, y in zip(text["mask"], (108, 122), strict=True):
        write(drawing, line, 153, y, 12)
    arrow(drawing, (153, 130), (153, 143))
    box(drawing, 1, 145, 260, 30)
    write(drawing, text["weigh"], 131, 160)
    arrow(drawing, (177, 177), (177, 193))
    _axes(drawing, text, 62, 232, 2.5 * 46)
    _grid(drawing, weights, LATIN, WORDS, left=62, top=232, width=46, height=30)
    arrow(drawing, (177, 326), (177, 348))
    box(drawing, 1, 350, 260, 30)
    write(drawing, text["mix"], 131, 365)
    arrow(drawing, (323, 101), (323, 365), (263, 365))
    arrow(drawing, (131, 382), (131, 402))
    box(drawing, 71, 404, 120, 44, fill="none", stroke=INK, stroke_width=1.25)
    write(drawing, text["output"], 131, 418, font_weight="bold")
    write(drawing, "n × e", 131, 435, 12)
    outer, inner = text["join"]
    rows = outer.join(
        text["row"].format(query=query, weights=inner.join(f"{w:.2f}" for w in row))
        for query, row in zip(LATIN, weights.tolist(), strict=True)
    )
    desc = text["desc"].format(rows=rows)
    name = f"{KEY}-two-sequences"
    return finish(drawing.as_svg(header=""), name, text["title"], desc, zoom=1.5)


def _axes(drawing: drawsvg.Drawing, text: dict, left: float, top: float, middle: float) -> None:
    """Name the axes of a grid: keys above its columns, queries beside its rows."""
    write(drawing, f"{text['key']} →", left + middle, top - 29, 12)
    write(drawing, f"{text['query']} ↓", left - 8, top - 12, 12, text_anchor="end")


def _grid(
    drawing: drawsvg.DrawingParentElement,
    weights: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    left: float,
    top: float,
    width: float,
    height: float,
) -> None:
    """Draw weights as a grid of numbers: a row for each query, a column for each key."""
    cells(drawing, (SHADE * weights / weights.max()).tolist(), left, top, width, height)
    for column, word in enumerate(columns):
        write(drawing, word, left + (column + 0.5) * width, top - 12, 12, font_weight="bold")
    for row, word in enumerate(rows):
        middle = top + (row + 0.5) * height
        write(drawing, word, left - 6, middle, 12, text_anchor="end", font_weight="bold")
        for column in range(len(columns)):
            number = f"{weights[row, column]:.2f}"
            write(drawing, number, left + (column + 0.5) * width, middle, 12)


def learned_order(language: str) -> str:
    """Draw the weights of the trained translator for two sentences."""
    text = texts(__file__, "learned_order", language)
    drawing, top, said = canvas(396, 310), 46, []
    outer, inner = text["join"]
    for index, (english, (latin, weights)) in enumerate(learned().items()):
        words, group = english.split(), drawsvg.Group(data_sentence=index)
        _axes(drawing, text, 66, top, len(words) / 2 * 54)
        _grid(group, weights.detach(), latin, words, left=66, top=top, width=54, height=28)
        drawing.append(group)
        top += 28 * len(latin) + 66
        most = (words[column] for column in weights.argmax(-1).tolist())
        pairs = (text["pair"].format(query=q, key=k) for q, k in zip(latin, most, strict=True))
        said.append(text["sentence"].format(english=english, pairs=inner.join(pairs)))
    desc = text["desc"].format(sentences=outer.join(said))
    name = f"{KEY}-learned-order"
    return finish(drawing.as_svg(header=""), name, text["title"], desc, zoom=1.5)


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
            kind = "token" if column < SOURCE_LENGTH else "padding"
            write(drawing, text[kind], left + (column + 0.5) * width, 56, 12)
            for row in range(PADDED):
                middle = (left + (column + 0.5) * width, top + (row + 0.5) * height)
                write(group, f"{weights[row, column]:.2f}", *middle, 12)
        drawing.append(group)
    write(drawing, f"{text['query']} ↓", 50, 56, 12, text_anchor="end")
    for row in range(PADDED):
        middle = top + (row + 0.5) * height
        write(drawing, f"{text['token']} {row}", 50, middle, 12, text_anchor="end")
    wrong, right = (text["join"].join(f"{w:.2f}" for w in grid[0].tolist()) for grid in grids)
    desc = text["desc"].format(n=TARGET_LENGTH, wrong=wrong, right=right)
    name = f"{KEY}-whose-padding"
    return finish(drawing.as_svg(header=""), name, text["title"], desc, zoom=1.5)


FIGURES: dict[str, Callable[[str], str]] = {
    "two-sequences": two_sequences,
    "learned-order": learned_order,
    "whose-padding": whose_padding,
}
