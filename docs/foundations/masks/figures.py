"""Figures about masks."""

from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs import attention_weights, causal_mask, padding_mask, sliding_window_mask
from attn_docs.sentence import WORDS, embeddings, projections
from docs._kit.draw import INK, SHADE, canvas, cells, finish, write
from docs._kit.text import texts

KEY = "foundations-masks"
_CELL = 23
_FILLED = 0.8


def _grid(
    parent: drawsvg.DrawingParentElement,
    allowed: list[list[bool]],
    x: float,
    y: float,
    size: int = _CELL,
) -> None:
    """Draw a mask: filled cells where attending is allowed, crosses where it is not."""
    cells(parent, [[_FILLED * cell for cell in row] for row in allowed], x, y, size, size)
    crosses = drawsvg.Path(fill="none", stroke=INK, stroke_opacity=0.7)
    for row, line in enumerate(allowed):
        for column, cell in enumerate(line):
            if not cell:
                left, top = x + column * size + (size - 7) / 2, y + row * size + (size - 7) / 2
                crosses.M(left, top).l(7, 7).m(-7, 0).l(7, -7)
    if not all(map(all, allowed)):
        parent.append(crosses)


SHARPNESS = 6.0
_WIDE, _HIGH = 33, 24


def sentence_weights() -> dict[str, Tensor]:
    """Return the weights of the running sentence, without a mask and under the causal one."""
    w_q, w_k, _ = projections(SHARPNESS)
    query, key = embeddings() @ w_q, embeddings() @ w_k
    n = len(WORDS)
    masks = {"all": torch.ones(n, n, dtype=torch.bool), "causal": causal_mask(n)}
    return {name: attention_weights(query, key, mask) for name, mask in masks.items()}


def sentence(language: str) -> str:
    """Draw the weights of the running sentence, without a mask and under the causal one."""
    text = texts(__file__, "grid", language) | texts(__file__, "sentence", language)
    drawing = canvas(398, 178)
    top = 54
    write(drawing, f"{text['query']} ↓", 0, top - 12, 11, text_anchor="start")
    for row, word in enumerate(WORDS):
        write(drawing, word, 44, top + (row + 0.5) * _HIGH, 11, text_anchor="end")
    for (name, weights), left in zip(sentence_weights().items(), (49, 229), strict=True):
        group = drawsvg.Group(data_weights=name)
        write(group, text[name], left + 2.5 * _WIDE, 8, font_weight="bold")
        for column, word in enumerate(WORDS):
            write(group, word, left + (column + 0.5) * _WIDE, top - 12, 11)
        cells(group, (SHADE * weights).tolist(), left, top, _WIDE, _HIGH)
        _numbers_or_crosses(group, weights, left, top, crossed=name == "causal")
        drawing.append(group)
    desc = text["desc"].format(
        **{
            name: "; ".join(", ".join(f"{w:.2f}" for w in row) for row in weights.tolist())
            for name, weights in sentence_weights().items()
        }
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-sentence", text["title"], desc, zoom=1.15)


def _numbers_or_crosses(
    group: drawsvg.Group, weights: Tensor, left: float, top: float, *, crossed: bool
) -> None:
    """Write each weight into its cell, and a cross where a causal mask forbids it."""
    crosses = drawsvg.Path(fill="none", stroke=INK, stroke_opacity=0.7)
    for row, line in enumerate(weights.tolist()):
        for column, weight in enumerate(line):
            x, y = left + (column + 0.5) * _WIDE, top + (row + 0.5) * _HIGH
            if crossed and column > row:
                crosses.M(x - 3.5, y - 3.5).l(7, 7).m(-7, 0).l(7, -7)
            else:
                write(group, f"{weight:.2f}", x, y, 11)
    if crossed:
        group.append(crosses)


def gallery_masks() -> dict[str, Tensor]:
    """Return the masks of two words and one padding: alone, with the causal one, and wrong."""
    is_word = padding_mask([2], max_len=3)  # b m
    padding, wrong = (
        part.expand(1, 3, 3)[0] for part in (is_word[:, None, :], is_word[:, :, None])
    )
    return {"padding": padding, "both": causal_mask(3) & padding, "wrong": wrong}


def alignment_masks() -> dict[str, Tensor]:
    """Return the causal masks of two queries and four keys, by the name of their alignment."""
    return {"first": causal_mask(2, 4), "last": causal_mask(2, 4, offset=2)}


def kind_masks() -> dict[str, Tensor]:
    """Return more kinds of masks, for five words."""
    distance = torch.arange(5)[:, None] - torch.arange(5)
    return {
        "window": sliding_window_mask(5, window=2),
        "both_sides": distance.abs() <= 1,
        "prefix": causal_mask(5) | padding_mask([2], 5),
    }


def _grids(language: str, name: str, masks: dict[str, Tensor], *, apart: int, size: int) -> str:
    """Draw masks in a row, each with its name, its axes named and its cells numbered."""
    text = texts(__file__, "grid", language) | texts(__file__, name, language)
    bottom = 77 + next(iter(masks.values())).size(0) * size
    drawing = canvas(340 if len(masks) == 2 else 398, bottom + 24)
    for index, (which, mask) in enumerate(masks.items()):
        left = apart * index
        group = drawsvg.Group(data_mask=which)
        name_x, key_x = left + 22, left + 22 + mask.size(1) * size / 2 + 25
        write(group, text[which], name_x, 8, text_anchor="start", font_weight="bold")
        write(group, f"{text['query']} ↓", left, 30, 12, text_anchor="start")
        write(group, f"{text['key']} →", key_x, 30, 12)
        for query in range(mask.size(0)):
            write(group, str(query), left + 11, 57 + (query + 0.5) * size, 12)
        for key in range(mask.size(1)):
            write(group, str(key), left + 22 + (key + 0.5) * size, 48, 12)
        _grid(group, mask.tolist(), left + 22, 57, size)
        drawing.append(group)
    for label, allowed, left in (("may", True, 22), ("may_not", False, 201)):
        _grid(drawing, [[allowed]], left, bottom)
        write(drawing, text[label], left + 32, bottom + 11.5, 12, text_anchor="start")
    seen = {
        which: text["comma"].join(str(count) for count in mask.sum(1).tolist())
        for which, mask in masks.items()
    }
    desc = text["desc"].format(**seen)
    return finish(drawing.as_svg(header=""), f"{KEY}-{name}", text["title"], desc)


def gallery(language: str) -> str:
    """Draw a padding mask, alone and with the causal one, and the same on the wrong axis."""
    return _grids(language, "gallery", gallery_masks(), apart=138, size=_CELL)


def alignment(language: str) -> str:
    """Draw the causal masks of fewer queries than keys, in both alignments."""
    return _grids(language, "alignment", alignment_masks(), apart=179, size=_CELL)


def kinds(language: str) -> str:
    """Draw more kinds of masks."""
    return _grids(language, "kinds", kind_masks(), apart=138, size=18)


FIGURES: dict[str, Callable[[str], str]] = {
    "sentence": sentence,
    "gallery": gallery,
    "alignment": alignment,
    "kinds": kinds,
}
