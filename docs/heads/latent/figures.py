"""Figures of the chapter on latent attention."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SOFT,
    arrow,
    box,
    canvas,
    finish,
    write,
)
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import CONTEXTS, WAYS
from .tables import V3, projected_up

KEY = "heads-latent"
WIDE, PANEL = 344, 164  # the drawing, one of its two panels
CACHE_LEFT, CACHE_WIDE = 60, 104  # of a panel: the latent vectors and the rotary keys
ROTARY = CACHE_WIDE * V3.rope_dim / (V3.kv_rank + V3.rope_dim)
ATTEND_TOP = 262


def forms(language: str) -> str:
    """Draw what is cached, what is made of it, and where the matrices stand, in both forms."""
    sizes = {"c": V3.kv_rank, "d": V3.head_dim, "r": V3.rope_dim, "e": V3.value_dim}
    sizes |= {"h": V3.num_heads, "made": V3.head_dim + V3.value_dim, "all": f"{projected_up():,}"}
    text = {name: line.format(**sizes) for name, line in texts(__file__, "forms", language).items()}
    drawing = canvas(WIDE, 410)
    for name, left in (("naive", 0), ("absorbed", WIDE - PANEL)):
        group = drawsvg.Group(data_form=name)
        write(group, text[name], left + PANEL / 2, 8, font_weight="bold")
        _cache(group, text, left)
        (_naive if name == "naive" else _absorbed)(group, text, left)
        box(group, left, ATTEND_TOP, PANEL, 28)
        write(group, text["attend"], left + PANEL / 2, ATTEND_TOP + 14, font_weight="bold")
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-forms", text["title"], text["desc"])


def _cache(group: drawsvg.Group, text: Words, left: float) -> None:
    """Draw the cached rows, the same in both forms, and the query beside them."""
    write(group, text["cached"], left + PANEL - 2, 34, 12, text_anchor="end")
    _rows(group, left + CACHE_LEFT, 44, CACHE_WIDE - ROTARY, part="cached", fill=ACCENT)
    right = left + CACHE_LEFT + CACHE_WIDE - ROTARY
    _rows(group, right + 2, 44, ROTARY - 2, part="rotary", fill=ACCENT_2)
    arrow(group, (left + PANEL - 5, 96), (left + PANEL - 5, ATTEND_TOP - 2))
    write(group, text["query"], left + 28, 58, 12)
    write(group, text["query_size"], left + 28, 74, 12)


def _rows(
    group: drawsvg.Group, x: float, y: float, width: float, *, part: str, **look: object
) -> None:
    rows = drawsvg.Group(data_part=part, **look)
    for row in range(4):
        rows.append(drawsvg.Rectangle(x, y + 12 * row, width, 10))
    group.append(rows)


def _naive(group: drawsvg.Group, text: Words, left: float) -> None:
    middle = left + 104
    arrow(group, (middle, 96), (middle, 114))
    _matrix(group, "W_UK, W_UV", text["m"], left + 56, 116, 96)
    arrow(group, (middle, 158), (middle, 172))
    rows = drawsvg.Group(data_part="made", fill=SOFT, stroke=INK, stroke_width=0.75)
    for row in range(4):
        rows.append(drawsvg.Rectangle(left + 54, 174 + 9 * row, 100, 8))
    group.append(rows)
    write(group, text["made"], middle, 219, 12)
    write(group, text["made_size"], middle, 234, 12)
    arrow(group, (middle, 244), (middle, ATTEND_TOP - 2))
    arrow(group, (left + 28, 86), (left + 28, ATTEND_TOP - 2))
    arrow(group, (left + PANEL / 2, ATTEND_TOP + 30), (left + PANEL / 2, 386))
    write(group, text["result"], left + PANEL / 2, 398, 12)


def _absorbed(group: drawsvg.Group, text: Words, left: float) -> None:
    arrow(group, (left + 28, 86), (left + 28, 114))
    _matrix(group, "W_UKᵀ", text["once"], left, 116, 92)
    arrow(group, (left + 28, 158), (left + 28, 200))
    write(group, text["absorbed_query"], left + 28, 212, 12)
    arrow(group, (left + 28, 224), (left + 28, ATTEND_TOP - 2))
    arrow(group, (left + 120, 96), (left + 120, ATTEND_TOP - 2))
    middle = left + PANEL / 2
    arrow(group, (middle, ATTEND_TOP + 30), (middle, 326))
    write(group, text["mixed"], middle + 8, 309, 12, text_anchor="start")
    _matrix(group, "W_UV", text["once"], middle - 46, 328, 92)
    arrow(group, (middle, 370), (middle, 386))
    write(group, text["result"], middle, 398, 12)


def _matrix(group: drawsvg.Group, name: str, times: str, x: float, y: float, width: float) -> None:
    box(group, x, y, width, 40, fill="none", stroke=INK, stroke_width=1.25)
    write(group, name, x + width / 2, y + 13, 12, font_weight="bold")
    write(group, times, x + width / 2, y + 29, 12)


def times() -> dict[str, list[float]]:
    """Return each way's time over the context's length, as measured."""
    found = load(__file__)["decode"]
    return {way: [found("time", way=way, context=context) for context in CONTEXTS] for way in WAYS}


_MARKS = {"linewidth": 2, "markersize": 5, "markeredgewidth": 0}
_LOOKS = {
    "absorbed": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid", **_MARKS},
    "naive": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2)), **_MARKS},
    "unpacked": {"color": chart.INK, "marker": "^", "linestyle": (0, (1, 1.5)), **_MARKS},
}


def measured(language: str) -> str:
    """Chart the stored times of all ways over the context's length."""
    text, names = (texts(__file__, group, language) for group in ("measured", "ways"))
    values = times()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 236)
        axes = chart.panel(figure, 40, 66, 290, 128)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlim(CONTEXTS[0] * 0.85, CONTEXTS[-1] * 1.15)
        most = max(max(times) for times in values.values())
        axes.set_ylim(0.6, most * 1.6)
        chart.set_ticks(axes, "x", {context: f"{context:,}" for context in CONTEXTS})
        ticks = {tick: f"{tick:g}×" for tick in (1, 3, 10, 30, 100, 300) if tick < most * 1.6}
        chart.set_ticks(axes, "y", ticks)
        for index, way in enumerate(WAYS):
            axes.plot(CONTEXTS, values[way], **_LOOKS[way], gid=f"part:{way}")
            x, y = (0.0, 0.5, 0.0)[index], 1 - (8, 8, 28)[index] / 236
            line = dict(_LOOKS[way], gid=f"part:{way}-key")
            axes.plot(
                [x + 0.01, x + 0.05, x + 0.09], [y] * 3, transform=figure.transFigure,
                clip_on=False, **line,
            )  # fmt: skip
            figure.text(x + 0.115, y, names[way], va="center")
        figure.text(0, 1 - 50 / 236, text["y"], va="center")
        figure.text(330 / 340, 4 / 236, text["x"], ha="right", va="baseline")
        rows = text["comma"].join(
            text["row"].format(name=names[way], times=" ".join(f"{t:.2f}×" for t in values[way]))
            for way in WAYS
        )
        contexts = " ".join(f"{context:,}" for context in CONTEXTS)
        desc = text["desc"].format(contexts=contexts, rows=rows)
        return chart.finish(figure, f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "forms": forms,
    "measured": measured,
}
