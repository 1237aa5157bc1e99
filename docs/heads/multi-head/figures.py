"""Figures of the chapter on multi-head attention."""

import statistics
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from torch import Tensor
from torch.nn import functional

from attn_docs import attention_weights, merge_heads, split_heads
from attn_docs.sentence import FEATURES, embeddings, projections
from attn_docs.sentence import WORDS as TOKENS
from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    INK,
    SHADE,
    arrow,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.measured import load
from docs._kit.text import texts

from . import tables
from .train import SENTENCE, SIZE

KEY = "heads-multi-head"
WORDS = ("the", "cat", "sleeps")
X = torch.tensor([[[10.0, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]]])
SHARPNESS, HALVES = 6.0, (slice(0, 2), slice(2, 4))
SHOWN = ((1, 1), (2, 4))  # the trained heads that are drawn: layer, head

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


def sentence_weights() -> list[Tensor]:
    """Return the weights of both heads on the running sentence, (n, n) each."""
    w_q, w_k, _ = two_questions()
    query, key = embeddings() @ w_q, embeddings() @ w_k
    return [attention_weights(query[:, half], key[:, half]) for half in HALVES]


def two_questions() -> tuple[Tensor, Tensor, Tensor]:
    """Return the projections of the first example: "it" looks for a noun and for a verb."""
    w_q, w_k, w_v = projections(SHARPNESS)
    w_q[FEATURES.index("pronoun"), 2] = SHARPNESS
    return functional.pad(w_q, (0, 1)), functional.pad(w_k, (0, 1)), w_v


def sentence(language: str) -> str:
    """Draw the weights of both heads on the running sentence, with the row of "it" framed."""
    text, (width, height), top = texts(__file__, "sentence", language), (33, 26), 54
    drawing = canvas(398, 188)
    write(drawing, f"{text['query']} ↓", 0, top - 12, 11, text_anchor="start")
    for row, word in enumerate(TOKENS):
        bold = {"font_weight": "bold"} if word == "it" else {}
        write(drawing, word, 44, top + (row + 0.5) * height, 11, text_anchor="end", **bold)
    for name, weights, left in zip(("who", "what"), sentence_weights(), (49, 229), strict=True):
        group = drawsvg.Group(data_head=name)
        write(group, text[name], left + 2.5 * width, 9, font_weight="bold")
        for column, token in enumerate(TOKENS):
            write(group, token, left + (column + 0.5) * width, top - 12, 11)
        cells(group, (SHADE * weights).tolist(), left, top, width, height)
        for row, line in enumerate(weights.tolist()):
            for column, weight in enumerate(line):
                middle = (left + (column + 0.5) * width, top + (row + 0.5) * height)
                write(group, f"{weight:.2f}", *middle, 11)
        frame = (left, top + TOKENS.index("it") * height, 5 * width, height)
        group.append(drawsvg.Rectangle(*frame, fill="none", stroke=INK, stroke_width=2))
        drawing.append(group)
    rows = [
        text["semicolon"].join(
            f"{token}: {' '.join(f'{weight:.2f}' for weight in row)}"
            for token, row in zip(TOKENS, weights.tolist(), strict=True)
        )
        for weights in sentence_weights()
    ]
    desc = text["desc"].format(who=rows[0], what=rows[1])
    return finish(drawing.as_svg(header=""), f"{KEY}-sentence", text["title"], desc, zoom=1.5)


def trained_weights(layer: int, head: int) -> Tensor:
    """Return the stored weights of a trained head on its sentence; the smallest are zero."""
    weights = torch.zeros(len(SENTENCE), len(SENTENCE))
    for value in load(__file__)["maps"].values:
        if (value["layer"], value["head"]) == (layer, head):
            weights[value["query"], value["key"]] = value["value"]
    return weights


def attention_maps(language: str) -> str:
    """Draw what two heads of the trained model attend to, characters as rows and columns."""
    text, cell = texts(__file__, "attention_maps", language), 12.4
    letters = SENTENCE.replace(" ", "␣")
    drawing = canvas(400, 264)
    for (layer, head), left in zip(SHOWN, (18, 222), strict=True):
        weights, top = trained_weights(layer, head), 64
        label = text["label"].format(layer=layer, head=head)
        write(drawing, label, left + 7 * cell, 9, font_weight="bold")
        write(drawing, f"{text['key']} →", left + 7 * cell, 32, 11)
        group = drawsvg.Group(data_part=f"map-{layer}-{head}")
        _seen(group, weights, left, top, cell)
        for place, letter in enumerate(letters):
            middle = (place + 0.5) * cell
            write(group, letter, left + middle, top - 8, 11)
            write(group, letter, left - 8, top + middle, 11)
        cost = text["cost"].format(rise=tables.rise_without(layer, head))
        write(group, cost, left + 7 * cell, top + 14 * cell + 16, 12)
        drawing.append(group)
    write(drawing, f"{text['query']} ↓", 0, 32, 11, text_anchor="start")
    heads = text["join"].join(
        text["head"].format(
            layer=layer,
            head=head,
            pairs=text["comma"].join(
                text["pair"].format(query=letters[row], key=letters[column], place=column + 1)
                for row, column in enumerate(trained_weights(layer, head).argmax(-1).tolist())
            ),
        )
        for layer, head in SHOWN
    )
    desc = text["desc"].format(sentence=SENTENCE, heads=heads)
    name = f"{KEY}-attention-maps"
    return finish(drawing.as_svg(header=""), name, text["title"], desc, zoom=1.5)


def _seen(group: drawsvg.Group, weights: Tensor, left: float, top: float, cell: float) -> None:
    """Draw the cells with a weight worth seeing, and a frame around all places."""
    size = len(weights) * cell
    frame = (left, top, size, size)
    group.append(
        drawsvg.Rectangle(*frame, fill="none", stroke=INK, stroke_opacity=0.5, data_frame=1)
    )
    for row, column in weights.nonzero().tolist():
        place = (left + column * cell, top + row * cell, cell, cell)
        opacity = round(weights[row, column].item(), 2)
        group.append(drawsvg.Rectangle(*place, fill=ACCENT, fill_opacity=opacity))


def how_many(language: str) -> str:
    """Draw the loss of trained models against their number of heads, a dot a seed."""
    text, losses = texts(__file__, "how_many", language), tables.losses()
    means = [statistics.mean(found) for found in losses.values()]
    sizes = [text["size"].format(heads=count, size=SIZE // count) for count in losses]
    desc = text["desc"].format(
        losses=text["join"].join(
            text["found"].format(heads=count, size=SIZE // count, loss=mean)
            for count, mean in zip(losses, means, strict=True)
        )
    )
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 216)
        axes = chart.panel(figure, 40, 28, 348, 140)
        dots = {"linestyle": "none", "marker": "o", "markersize": 6, "markeredgewidth": 0}
        for place, (count, found) in enumerate(losses.items()):
            gid = f"part:heads-{count}"
            axes.plot([place] * len(found), found, color=chart.ACCENT, gid=gid, **dots)
        axes.plot(range(len(means)), means, color=chart.ACCENT, linewidth=1, gid="part:mean")
        axes.set_xlim(-0.4, len(means) - 0.6)
        axes.set_ylim(1.75, 2.05)
        chart.set_ticks(axes, "x", dict(enumerate(sizes)))
        chart.set_ticks(axes, "y", {level / 10: f"{level / 10:.1f}" for level in (18, 19, 20)})
        figure.text(0, 206 / 216, text["loss"], va="top")
        figure.text(388 / 400, 6 / 216, text["heads"], ha="right", va="baseline")
        return chart.finish(figure, f"{KEY}-how-many", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "sentence": sentence,
    "how-many": how_many,
    "split-and-merge": split_and_merge,
    "attention-maps": attention_maps,
}
