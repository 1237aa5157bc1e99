"""The figure of the primer on tensors."""

from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from attn_docs.sentence import WORDS
from docs._kit.draw import SHADE, canvas, cells, finish, write
from docs._kit.text import texts

CELL, LEFT, TOP = 25, 58, 74
WIDE = 32  # of a cell of the two words
HIDE = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])


def broadcasting(language: str) -> str:
    """Draw what a row of five and a column of five become when they meet a 5 × 5 matrix."""
    text = texts(__file__, "broadcasting", language)
    drawing = canvas(368, TOP + 5 * CELL + 14)
    for x, name, hide in ((LEFT, "row", HIDE), (LEFT + 182, "column", HIDE[:, None])):
        _stretched(drawing, x, hide, text[name])
    return finish(
        drawing.as_svg(header=""), "primer-tensors-broadcasting", text["title"], text["desc"]
    )


def _stretched(drawing: drawsvg.Drawing, left: float, hide: Tensor, title: str) -> None:
    """Draw one mask as PyTorch expands it, its own numbers with a bold outline."""
    write(drawing, title, left + 2.5 * CELL, 12, 13, font_weight="bold")
    cells(drawing, (SHADE * hide.expand(5, 5)).tolist(), left, TOP, CELL, CELL)
    for index, word in enumerate(WORDS):
        middle = (index + 0.5) * CELL
        write(drawing, word, left - 6, TOP + middle, 11, text_anchor="end")
        turned = {"transform": f"rotate(-90 {left + middle} {TOP - 6})", "text_anchor": "start"}
        write(drawing, word, left + middle, TOP - 6, 11, **turned)
    wide, high = (5, 1) if hide.dim() == 1 else (1, 5)
    outline = {"fill": "none", "stroke": "currentColor", "stroke_width": 2.5}
    drawing.append(drawsvg.Rectangle(left, TOP, wide * CELL, high * CELL, **outline))
    for row, column in hide.expand(5, 5).nonzero().tolist():
        write(drawing, "−∞", left + (column + 0.5) * CELL, TOP + (row + 0.5) * CELL, 12)


def axes(language: str) -> str:
    """Draw which of eight numbers a head gets: a half of each word, or all of one."""
    text = texts(__file__, "axes", language)
    x = torch.arange(8).view(2, 4)
    drawing = canvas(368, 100)
    right, wrong = x.view(2, 2, 2).transpose(0, 1)[0], x.view(2, 2, 2)[0]
    for left, name, head in ((46, "right", right), (230, "wrong", wrong)):
        write(drawing, text[name], left + 2 * WIDE, 12, 13, font_weight="bold")
        shades = SHADE * torch.isin(x, head.flatten()).float()
        cells(drawing, shades.tolist(), left, 30, WIDE, CELL)
        for place in x.flatten().tolist():
            row, column = divmod(place, 4)
            write(drawing, str(place), left + (column + 0.5) * WIDE, 30 + (row + 0.5) * CELL, 12)
        for row, word in enumerate(WORDS[:2]):
            write(drawing, word, left - 6, 30 + (row + 0.5) * CELL, 11, text_anchor="end")
        write(drawing, text["head"].format(numbers=_numbers(head)), left + 2 * WIDE, 92, 11)
    desc = text["desc"].format(right=_numbers(right), wrong=_numbers(wrong))
    return finish(drawing.as_svg(header=""), "primer-tensors-axes", text["title"], desc)


def _numbers(head: Tensor) -> str:
    return ", ".join(map(str, head.flatten().tolist()))


FIGURES: dict[str, Callable[[str], str]] = {"broadcasting": broadcasting, "axes": axes}
