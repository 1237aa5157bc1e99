"""Figures of the chapter on latent attention."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    INK,
    ON_ACCENT,
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
from .tables import KV_HEADS, V3, grouped_cache, kept

KEY = "heads-latent"
OUTLINE = {"fill": "none", "stroke": INK, "stroke_width": 1.25}
_PANEL_H = 300


def flow(language: str) -> str:
    """Draw the layer at DeepSeek-V3's sizes; what is kept is highlighted."""
    sizes = {
        "embed": f"{V3.embed_dim:,}",
        "q_rank": f"{V3.q_rank:,}",
        "h": str(V3.num_heads),
        "c": str(V3.kv_rank),
        "d": str(V3.head_dim),
        "r": str(V3.rope_dim),
        "e": str(V3.value_dim),
        "kept": str(kept()),
    }
    text = {name: line.format(**sizes) for name, line in texts(__file__, "flow", language).items()}
    drawing = canvas(340, 470)

    box(drawing, 1, 1, 338, 34, **OUTLINE)
    write(drawing, f"x: {sizes['embed']}", 170, 18, font_weight="bold")
    _queries(drawing, text, sizes)
    _keys_and_values(drawing, text, sizes)
    _heads(drawing, text, sizes)
    return finish(drawing.as_svg(header=""), f"{KEY}-flow", text["title"], text["desc"])


def _layer(drawing: drawsvg.Drawing, name: str, x: float, y: float, width: float) -> None:
    box(drawing, x, y, width, 28)
    write(drawing, name, x + width / 2, y + 14, font_weight="bold")


def _note(drawing: drawsvg.Drawing, words: str, x: float, y: float, **attributes: object) -> None:
    write(drawing, words, x, y, 12, **{"text_anchor": "start", **attributes})


def _queries(drawing: drawsvg.Drawing, text: Words, sizes: dict[str, str]) -> None:
    for name, y in (("q_a_proj", 57), ("q_a_norm", 109), ("q_b_proj", 161)):
        arrow(drawing, (44, y - (20 if y == 57 else 22)), (44, y - 2))
        _layer(drawing, name, 1, y, 148)
        _note(drawing, sizes["embed"] if y == 57 else sizes["q_rank"], 51, y - 12)
    for x in (35, 114):
        arrow(drawing, (x, 191), (x, 221))
    _note(drawing, f"{sizes['h']} × {sizes['d']}", 32, 231, text_anchor="middle")
    _note(drawing, f"{sizes['h']} × {sizes['r']}", 114, 231, text_anchor="middle")
    arrow(drawing, (35, 241), (35, 361))
    arrow(drawing, (114, 241), (114, 257))
    _layer(drawing, text["turn"], 79, 259, 70)
    arrow(drawing, (114, 289), (114, 361))


def _keys_and_values(drawing: drawsvg.Drawing, text: Words, sizes: dict[str, str]) -> None:
    arrow(drawing, (265, 37), (265, 55))
    _note(drawing, sizes["embed"], 272, 46)
    _layer(drawing, "kv_a_proj", 191, 57, 148)
    for x, size in ((233, sizes["c"]), (311, sizes["r"])):
        arrow(drawing, (x, 87), (x, 107))
        _note(drawing, size, x + 7, 97)
        arrow(drawing, (x, 139), (x, 159))
    _layer(drawing, "kv_a_norm", 191, 109, 84)
    _layer(drawing, text["turn"], 283, 109, 56)
    group = drawsvg.Group(data_part="kept")
    box(group, 191, 161, 148, 34, lit=True)
    write(group, text["kept"], 265, 178, fill=ON_ACCENT, font_weight="bold")
    drawing.append(group)
    arrow(drawing, (233, 197), (233, 217))
    _note(drawing, sizes["c"], 240, 207)
    _layer(drawing, "kv_b_proj", 191, 219, 84)
    arrow(drawing, (311, 197), (311, 257))
    _note(drawing, sizes["r"], 318, 227)
    _note(drawing, text["all"], 311, 267, text_anchor="middle")
    arrow(drawing, (311, 277), (311, 361))
    for x, name in ((208, "keys"), (258, "values")):
        arrow(drawing, (x, 249), (x, 289))
        _note(drawing, text[name], x, 299, text_anchor="middle")
        arrow(drawing, (x, 326), (x, 361))
    _note(drawing, text["each"], 233, 316, text_anchor="middle")


def _heads(drawing: drawsvg.Drawing, text: Words, sizes: dict[str, str]) -> None:
    box(drawing, 1, 363, 338, 46, stroke=INK, stroke_width=0.75)
    write(drawing, text["attend"], 170, 377, font_weight="bold")
    write(drawing, text["sizes"], 170, 396, 12)
    arrow(drawing, (170, 411), (170, 431))
    _note(drawing, f"{sizes['h']} × {sizes['e']}", 177, 421)
    _layer(drawing, f"out_proj → {sizes['embed']}", 85, 433, 170)


# how many cells of a head's size each kind keeps
KINDS = {name: grouped_cache(g).growing / V3.head_dim for name, g in KV_HEADS.items()}
KINDS["latent"] = kept() / V3.head_dim


def kept_cells(language: str) -> str:
    """Draw what is kept of a word as cells of a head's size."""
    text, size = texts(__file__, "kept", language), V3.head_dim
    drawing = canvas(340, 234)
    write(drawing, text["cell"].format(d=size), 340, 8, 12, text_anchor="end")
    top = 0.0
    for name, count in KINDS.items():
        write(drawing, text[name], 0, top + 8, 12, text_anchor="start", font_weight="bold")
        lit = name == "latent"
        group = drawsvg.Group(data_kind=name, fill=ACCENT if lit else SOFT, stroke=INK)
        group.args["stroke-width"] = 0.5
        for index in range(int(count + 0.5)):
            width = 10 * min(1.0, count - index)
            x, y = 1 + 10.5 * (index % 32), top + 19 + 10.5 * (index // 32)
            group.append(drawsvg.Rectangle(x, y, width, 10))
        drawing.append(group)
        top += 26 + 10.5 * max(1, count / 32) + 6
    rows = text["comma"].join(
        text["row"].format(name=text[name], count=count) for name, count in KINDS.items()
    )
    desc = text["desc"].format(d=size, rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-kept", text["title"], desc)


def forms(language: str) -> str:
    """Draw where the halves of kv_b_proj stand in both forms, of one head."""
    sizes = {"c": V3.kv_rank, "d": V3.head_dim, "e": V3.value_dim}
    text = {name: line.format(**sizes) for name, line in texts(__file__, "forms", language).items()}
    ways = texts(__file__, "ways", language)
    drawing = canvas(340, _PANEL_H)
    for name, left in (("naive", 0), ("absorbed", 178)):
        group = drawsvg.Group(data_form=name)
        write(group, ways[name], left + 80, 8, font_weight="bold")
        _names(group, text["query"], left + 36, 34)
        _names(group, text["kept"], left + 124, 34)
        naive = name == "naive"
        if naive:
            arrow(group, (left + 124, 46), (left + 124, 70))
            _matrix(group, "W_UK, W_UV", text["m"], left + 82, 72, 84)
            arrow(group, (left + 124, 114), (left + 124, 132))
            _names(group, text["keys"], left + 124, 143)
            arrow(group, (left + 124, 154), (left + 124, 172))
            arrow(group, (left + 36, 46), (left + 36, 172))
        else:
            arrow(group, (left + 36, 46), (left + 36, 70))
            _matrix(group, "W_UKᵀ", text["n"], left, 72, 72)
            arrow(group, (left + 36, 114), (left + 36, 132))
            _names(group, text["absorbed_query"], left + 36, 143)
            arrow(group, (left + 36, 154), (left + 36, 172))
            arrow(group, (left + 124, 46), (left + 124, 172))
        box(group, left, 174, 160, 28)
        write(group, text["score"], left + 80, 188, font_weight="bold")
        arrow(group, (left + 80, 204), (left + 80, 220 if not naive else 276))
        if not naive:
            _matrix(group, "W_UV", text["n"], left + 44, 222, 72)
            arrow(group, (left + 80, 264), (left + 80, 276))
            write(group, text["mixed"], left + 86, 212, 11, text_anchor="start")
        _names(group, text["result"], left + 80, 287)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-forms", text["title"], text["desc"])


def _names(parent: drawsvg.Group, name: str, x: float, y: float) -> None:
    write(parent, name, x, y, 12)


def _matrix(parent: drawsvg.Group, name: str, times: str, x: float, y: float, width: float) -> None:
    box(parent, x, y, width, 40, lit=True)
    write(parent, name, x + width / 2, y + 13, 11, fill=ON_ACCENT, font_weight="bold")
    write(parent, times, x + width / 2, y + 29, 12, fill=ON_ACCENT)


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
    "flow": flow,
    "kept": kept_cells,
    "forms": forms,
    "measured": measured,
}
