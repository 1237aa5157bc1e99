"""Figures of the chapter on multi-head attention."""

import contextlib
import functools
import importlib
import io
from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import merge_heads, split_heads
from docs._kit import draw
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

KEY = "heads-multi-head"
WORDS = ("the", "cat", "sleeps")
X = torch.tensor([[[10.0, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]]])
LETTERS, MARKED = (1, 0, 3, 6, 4, 5, 2), 4

_WIDTH, _HEIGHT = 28, 22


def split_and_merge(language: str) -> str:
    """Draw where each number goes when heads are split and merged, and when they are viewed."""
    text = texts(__file__, "split_and_merge", language)
    ways = {"right": split_heads(X, 2), "wrong": X.view(1, 2, 3, 2)}
    drawing = canvas(340, 344)
    write(drawing, text["x"], 196, 8, font_weight="bold")
    _matrix(drawing, "x", X[0], 140, 20)
    _words(drawing, 132, 20)
    for name, left in (("right", 50), ("wrong", 219)):
        start, middle = (168 if name == "right" else 224), left + 60
        arrow(drawing, (start, 88), (start, 98), (middle, 98), (middle, 110))
        write(drawing, text[name], middle, 120, font_weight="bold")
        for index, head in enumerate(ways[name][0]):
            write(drawing, text["label"].format(index=index + 1), left + 28 + 64 * index, 140, 12)
            _matrix(drawing, f"{name}-head-{index + 1}", head, left + 64 * index, 152)
        arrow(drawing, (middle, 220), (middle, 246))
        write(drawing, text["merged"], middle, 258, 12)
        _matrix(drawing, f"{name}-merged", merge_heads(ways[name])[0], left + 4, 270)
    _words(drawing, 43, 152)
    _words(drawing, 43, 270)
    semicolon, comma = text["join"]

    def heads(name: str) -> str:
        return semicolon.join(
            text["head"].format(index=index, rows=_rows(head, comma))
            for index, head in enumerate(ways[name][0], 1)
        )

    desc = text["desc"].format(
        x=_rows(X[0], comma),
        right_heads=heads("right"),
        wrong_heads=heads("wrong"),
        wrong=_rows(merge_heads(ways["wrong"])[0], comma),
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-split-and-merge", text["title"], desc)


def _matrix(drawing: drawsvg.Drawing, part: str, numbers: Tensor, x: float, y: float) -> None:
    """Draw numbers in cells, each shaded by its word."""
    group = drawsvg.Group(data_part=part)
    cells(group, (SHADE * (numbers // 10) / 3).tolist(), x, y, _WIDTH, _HEIGHT)
    for row, line in enumerate(numbers.tolist()):
        for column, number in enumerate(line):
            middle = (x + (column + 0.5) * _WIDTH, y + (row + 0.5) * _HEIGHT)
            write(group, f"{number:g}", *middle, 12)
    drawing.append(group)


def _words(drawing: drawsvg.Drawing, x: float, y: float) -> None:
    for index, word in enumerate(WORDS):
        write(drawing, word, x, y + (index + 0.5) * _HEIGHT, 12, text_anchor="end")


def _rows(numbers: Tensor, comma: str) -> str:
    return comma.join(f"[{' '.join(f'{number:g}' for number in row)}]" for row in numbers.tolist())


def block_diagram(language: str) -> str:
    """Draw the layer from x and context to the output, a shape on every arrow."""
    text, stages = (
        texts(__file__, "block_diagram", language),
        texts(draw.__file__, "stages", language),
    )
    drawing = canvas(340, 470)
    outline = {"fill": "none", "stroke": INK, "stroke_width": 1.25}
    box(drawing, 1, 1, 114, 42, **outline)
    box(drawing, 123, 1, 216, 42, **outline)
    for name, shape, x in (
        ("x", "b × n × embed_dim", 58),
        (text["context"], "b × m × kv_dim", 231),
    ):
        write(drawing, name, x, 13, font_weight="bold")
        write(drawing, shape, x, 31, 11)
    for name, length, left in (("q_proj", "n", 1), ("k_proj", "m", 123), ("v_proj", "m", 235)):
        x = left + 12
        arrow(drawing, (x, 45), (x, 61))
        box(drawing, left, 63, 104, 30)
        write(drawing, name, left + 52, 78, font_weight="bold")
        arrow(drawing, (x, 95), (x, 127))
        write(drawing, f"b × {length} × h·d", x + 6, 109, 11, text_anchor="start")
        arrow(drawing, (x, 161), (x, 193))
        write(drawing, f"b × h × {length} × d", x + 6, 175, 11, text_anchor="start")
    box(drawing, 1, 129, 338, 30)
    write(drawing, stages["split"], 170, 144, font_weight="bold")
    for shift in (16, 8, 0):
        box(drawing, 1 + shift, 195 + shift, 322, 58, stroke=INK, stroke_width=0.75)
    write(drawing, text["attend"], 162, 214, font_weight="bold")
    attention = " · ".join(stages[name] for name in ("score", "mask", "normalise", "mix"))
    write(drawing, attention, 162, 234, 12)
    for shape, name, y in (
        ("b × h × n × d", stages["merge"], 307),
        ("b × n × h·d", "out_proj", 367),
    ):
        arrow(drawing, (170, y - (36 if y == 307 else 28)), (170, y - 2))
        write(drawing, shape, 178, y - 16, 11, text_anchor="start")
        box(drawing, 85, y, 170, 30)
        write(drawing, name, 170, y + 15, font_weight="bold")
    arrow(drawing, (170, 399), (170, 423))
    box(drawing, 85, 425, 170, 42, **outline)
    write(drawing, text["output"], 170, 437, font_weight="bold")
    write(drawing, "b × n × embed_dim", 170, 455, 11)
    return finish(drawing.as_svg(header=""), f"{KEY}-block-diagram", text["title"], text["desc"])


@functools.cache
def trained_weights() -> Tensor:
    """Return the weights (heads, n, m) of the chapter's trained layer on seven letters."""
    threads = torch.get_num_threads()
    with contextlib.redirect_stdout(io.StringIO()):
        task = importlib.import_module("attn_docs.examples.heads.multi_head.two_heads_learn")
    torch.set_num_threads(threads)
    x = task.encode(torch.tensor([LETTERS]), torch.tensor([[MARKED]]))
    weights: Tensor = task.layers[2](x, need_weights=True)[1][0].detach()
    return weights


def attention_maps(language: str) -> str:
    """Draw each head's weights as they come from the module, and their mean."""
    text, weights, cell = texts(__file__, "attention_maps", language), trained_weights(), 14
    letters = ["abcdefgh"[letter] for letter in LETTERS]
    drawing = canvas(340, 155)
    maps = [*weights, weights.mean(0)]
    write(drawing, text["query"], 0, 30, 11, text_anchor="start")
    write(drawing, text["key"], 90, 30, 11)
    for index, weight in enumerate(maps):
        left, top = 22 + 110 * index, 56
        label = text["mean"] if index == 2 else text["label"].format(index=index + 1)
        write(drawing, label, left + 3.5 * cell, 9, font_weight="bold")
        group = drawsvg.Group(data_part=f"map-{index + 1}")
        cells(group, weight.tolist(), left, top, cell, cell)
        for place, letter in enumerate(letters):
            bold = {"font_weight": "bold"} if place == MARKED else {}
            middle = (place + 0.5) * cell
            write(group, letter, left + middle, top - 8, 11, **bold)
            write(group, letter, left - 7, top + middle, 11, **bold)
        drawing.append(group)
    comma, stop = text["join"]
    heads = stop.join(
        text["head"].format(
            index=index,
            pairs=comma.join(
                text["pair"].format(query=letters[row], key=letters[column])
                for row, column in enumerate(head.argmax(-1).tolist())
                if row  # the first has no letter before, and was not trained to look at one
            ),
        )
        for index, head in enumerate(weights, 1)
    )
    desc = text["desc"].format(letters=" ".join(letters), marked=letters[MARKED], heads=heads)
    return finish(drawing.as_svg(header=""), f"{KEY}-attention-maps", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "split-and-merge": split_and_merge,
    "block-diagram": block_diagram,
    "attention-maps": attention_maps,
}
