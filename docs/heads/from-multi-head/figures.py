"""Figures of the chapter on conversion from multi-head to grouped-query attention."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, canvas, cells, finish, write
from docs._kit.text import texts

from .conversion import METHODS, MORE, choices, losses

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
    drawing = canvas(340, 232)
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
        write(group, f"{text['head']} {j}", 292, top + cell, 12, text_anchor="start")
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


def curves(language: str) -> str:
    """Chart the loss of the three conversions while they are trained further."""
    text, names = (texts(__file__, group, language) for group in ("curves", "methods"))
    width, height = 352, 250
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        figure.text(0, 1 - 8 / height, text["axes"], va="center", size=12)
        axes = chart.panel(figure, 26, 24, 232, 200)
        axes.set_xlim(-0.3, 2 * MORE + 0.3)
        axes.set_ylim(0.8, 3.0)
        chart.set_ticks(axes, "x", {n: str(n) for n in (0, MORE, 2 * MORE)})
        chart.set_ticks(axes, "y", {y: f"{y:g}" for y in (1, 1.5, 2, 2.5, 3)})
        before = losses("none", 4)[0]
        dots = {"color": chart.INK, "linestyle": (0, (1, 2)), "linewidth": 1.5}
        axes.plot([0, 2 * MORE], [before, before], **dots, gid="part:before")
        colours = {"mean": chart.ACCENT, "first": chart.ACCENT_2, "random": chart.INK}
        places = {"none": before - 0.1}
        for method in METHODS:
            mine = losses(method, 2)
            axes.plot(
                range(len(mine)), mine, color=colours[method], linewidth=2, gid=f"part:{method}"
            )
            below = max(places.values())
            places[method] = max(mine[-1], below + 0.17)  # labels a line apart
        for name, y in places.items():
            top = 24 + 200 * (3.0 - y) / 2.2
            figure.text(264 / width, 1 - top / height, names[name], va="center", size=12)
        desc = text["desc"].format(
            before=f"{before:.2f}",
            lines=text["comma"].join(
                text["line"].format(
                    name=names[method],
                    start=f"{losses(method, 2)[0]:.2f}",
                    end=f"{losses(method, 2)[-1]:.2f}",
                )
                for method in METHODS
            ),
        )
        return chart.finish(figure, f"{KEY}-curves", text["title"], desc)


def place(value: float) -> float:
    """Return where a loss stands from left to right."""
    return 20 + (value - 0.9) / 1.6 * 300


def choice(language: str) -> str:
    """Draw the loss right after conversion for every way to choose which heads share."""
    text, found = texts(__file__, "choice", language), choices()
    before = losses("none", 4)[0]
    drawing = canvas(340, 214)
    group = drawsvg.Group()
    x = place(before)
    group.append(drawsvg.Line(x, 22, x, 184, stroke=INK, stroke_dasharray="2 3", data_before=1))
    write(group, text["before"], x, 10, 12)
    for index, name in enumerate(("mean", "turned", "first")):
        y = 62 + 50 * index
        write(group, text[name], 44, y - 22, 12, text_anchor="start", font_weight="bold")
        group.append(drawsvg.Line(20, y, 330, y, stroke=INK, stroke_opacity=0.25))
        marks = drawsvg.Group(data_way=name, fill=ACCENT, fill_opacity=0.7)
        for value in found[name]:
            marks.append(drawsvg.Rectangle(place(value) - 4, y - 7, 8, 14, rx=2))
        group.append(marks)
    for value in (1.0, 1.5, 2.0, 2.5):
        group.append(drawsvg.Line(place(value), 184, place(value), 190, stroke=INK))
        write(group, f"{value:g}", place(value), 200, 12)
    write(group, text["axis"], 278, 200, 12)
    drawing.append(group)
    rows = text["join"].join(
        text["row"].format(
            name=text[name], count=len(values), low=f"{min(values):.2f}", high=f"{max(values):.2f}"
        )
        for name, values in found.items()
    )
    desc = text["desc"].format(before=f"{before:.2f}", rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-choice", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "pooling": pooling,
    "curves": curves,
    "choice": choice,
}
