"""Figures of the chapter on conversion from multi-head to grouped-query attention."""

from collections.abc import Callable

import drawsvg
import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query
from docs._kit.draw import ACCENT, INK, canvas, cells, finish, write
from docs._kit.text import texts

from .conversion import STRONG, by_strong, choices, losses

KEY = "heads-from-multi-head"
HEADS, KV_HEADS, SIZE, INPUT = 4, 2, 2, 4


def key_rows() -> tuple[list[list[float]], list[list[float]]]:
    """Return the rows of a small key projection, and what the module makes of them."""
    multi = MultiHeadAttention(INPUT, HEADS, head_dim=SIZE, bias=False)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        multi.k_proj.weight.copy_(torch.rand(HEADS * SIZE, INPUT, generator=generator))
    grouped = multi_head_to_grouped_query(multi, KV_HEADS)
    return multi.k_proj.weight.tolist(), grouped.k_proj.weight.tolist()


def pooling(language: str) -> str:
    """Draw the rows of a key projection before and after: each cell's shade is its number."""
    text, cell, gap = texts(__file__, "pooling", language), 18, 12
    drawing = canvas(380, 232)
    group = drawsvg.Group()
    write(group, text["before"], 66, 8, font_weight="bold")
    write(group, text["after"], 274, 8, font_weight="bold")
    tops = [26 + head * (2 * cell + gap) for head in range(HEADS)]
    pooled_tops = [26 + (2 * j + 0.5) * (2 * cell + gap) for j in range(KV_HEADS)]
    for i, top in enumerate(tops):
        below = pooled_tops[i // (HEADS // KV_HEADS)] + cell
        group.append(
            drawsvg.Line(140, top + cell, 204, below, stroke=INK, data_head=i, data_kv=i // 2)
        )
        write(group, f"{text['head']} {i}", 50, top + cell, 12, text_anchor="end")
    for j, top in enumerate(pooled_tops):
        write(group, f"{text['shared']} {j}", 292, top + cell, 12, text_anchor="start")
    drawing.append(group)
    for name, rows, left, heads in zip(
        ("before", "after"), key_rows(), (60, 212), (tops, pooled_tops), strict=True
    ):
        for head, top in enumerate(heads):
            part = drawsvg.Group(data_matrix=name, data_head=head)
            shades = [[0.9 * number for number in row] for row in rows[2 * head : 2 * head + 2]]
            cells(part, shades, left, top, cell, cell)
            drawing.append(part)
    return finish(drawing.as_svg(header=""), f"{KEY}-pooling", text["title"], text["desc"])


def place(value: float) -> float:
    """Return where a loss stands from left to right."""
    return 20 + (value - 0.9) / 1.6 * 300


def choice(language: str) -> str:
    """Draw the loss right after conversion for every way to choose which heads share."""
    text, found = texts(__file__, "choice", language), choices()
    before, (kept, without) = losses("none", 4)[0], by_strong()
    drawing = canvas(340, 214)
    group = drawsvg.Group()
    x = place(before)
    group.append(drawsvg.Line(x, 22, x, 184, stroke=INK, stroke_dasharray="2 3", data_before=1))
    write(group, text["before"], x, 10, 12)
    for index, name in enumerate(("mean", "turned", "first")):
        y = 58 + 46 * index
        write(group, text[name], 44, y - 19, 12, text_anchor="start", font_weight="bold")
        group.append(drawsvg.Line(20, y, 330, y, stroke=INK, stroke_opacity=0.25))
        marks = drawsvg.Group(data_way=name, fill=ACCENT, fill_opacity=0.7)
        for value in found[name]:
            look = {"fill": INK} if value in without else {}
            marks.append(drawsvg.Rectangle(place(value) - 4, y - 7, 8, 14, rx=2, **look))
        group.append(marks)
    for name, values in (("kept", kept), ("dropped", without)):
        middle = place((min(values) + max(values)) / 2)
        write(group, text[name].format(head=STRONG), middle, 167, 12)
    for value in (1.0, 1.5, 2.0):
        group.append(drawsvg.Line(place(value), 184, place(value), 190, stroke=INK))
        write(group, f"{value:g}", place(value), 200, 12)
    write(group, text["axis"], 330, 200, 12, text_anchor="end")
    drawing.append(group)
    rows = text["join"].join(
        text["row"].format(
            name=text[name], count=len(values), low=f"{min(values):.2f}", high=f"{max(values):.2f}"
        )
        for name, values in found.items()
    )
    split = f"{(max(kept) + min(without)) / 2:.1f}"
    desc = text["desc"].format(before=f"{before:.2f}", rows=rows, head=STRONG, split=split)
    return finish(drawing.as_svg(header=""), f"{KEY}-choice", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "pooling": pooling,
    "choice": choice,
}
