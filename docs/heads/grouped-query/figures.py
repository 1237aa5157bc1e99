"""Figures of the chapter on grouped-query attention."""

from collections.abc import Callable

import drawsvg

from docs._kit.draw import ACCENT, INK, ON_ACCENT, box, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import WAYS

KEY = "heads-grouped-query"
HEADS = 4
# name: KV heads, and whether they are cached; the latent form computes them from one vector
PANELS = {
    "multi-head": (4, True),
    "grouped-query": (2, True),
    "multi-query": (1, True),
    "latent": (4, False),
}
PLACES = ((0, 0), (210, 0), (0, 140), (210, 140))
_PITCH, _WIDTH = 47, 42


def sharing(language: str) -> str:
    """Draw which query head reads which KV head, and what is cached, in four kinds of attention."""
    text = texts(__file__, "sharing", language)
    drawing = canvas(400, 314)
    for (panel, (kv_heads, cached)), (left, top) in zip(PANELS.items(), PLACES, strict=True):
        group = drawsvg.Group(data_panel=panel)
        write(group, text[panel], left + 95, top + 8, 13, font_weight="bold")
        _heads(group, left, top, kv_heads, cached=cached)
        told = text["cached"].format(keys=kv_heads, s="" if kv_heads == 1 else "s")
        below = 114
        if not cached:
            _latent(group, left, top)
            told, below = text["one"], 164
        write(group, told, left + 95, top + below, 12)
        drawing.append(group)
    return finish(
        drawing.as_svg(header=""), f"{KEY}-sharing", text["title"], text["desc"], zoom=1.2
    )


def _heads(group: drawsvg.Group, left: float, top: float, kv_heads: int, *, cached: bool) -> None:
    """Draw the query heads, the KV heads below them, and a line for each that reads one."""
    size = HEADS // kv_heads
    for head in range(HEADS):
        kv_head = head // size
        x, below = _place(left, head, 1), _place(left, kv_head, size)
        where = {"data_query": head, "data_key": kv_head}
        group.append(drawsvg.Line(x, top + 46, below, top + 76, stroke=INK, **where))
        box(group, x - 15, top + 22, 30, 24, rx=4)
        write(group, f"Q{head}", x, top + 34, 12)
    for kv_head in range(kv_heads):
        x = _place(left, kv_head, size)
        dashed = {} if cached else {"stroke": INK, "stroke_dasharray": "3 3", "fill": "none"}
        place = {"rx": 4, "data_kv": kv_head, **dashed}
        box(group, x - _WIDTH / 2, top + 76, _WIDTH, 24, lit=cached, **place)
        emphasis = {"fill": ON_ACCENT, "font_weight": "bold"} if cached else {}
        write(group, f"K{kv_head} V{kv_head}", x, top + 88, 11.5, **emphasis)


def _latent(group: drawsvg.Group, left: float, top: float) -> None:
    """Draw the one cached vector from which all heads are computed."""
    for head in range(HEADS):
        x = _place(left, head, 1)
        line = {"stroke": INK, "stroke_dasharray": "3 3", "data_computed": head}
        group.append(drawsvg.Line(x, top + 100, left + 95, top + 126, **line))
    box(group, left + 65, top + 126, 60, 24, lit=True, rx=4, data_latent=1)
    write(group, "c", left + 95, top + 138, 13, fill=ON_ACCENT, font_weight="bold")


def _place(left: float, head: int, size: int) -> float:
    """Return where the middle of a head is that `size` query heads read."""
    return left + 24 + _PITCH * ((head + 0.5) * size - 0.5)


# kind: ticks of its axis, and how a value is written
AXES = {"time": ((0, 0.25, 0.5, 0.75, 1), "{:.2f}×"), "memory": ((0, 100, 200, 300), "{:.0f} MiB")}
_LEFT, _LENGTH, _ROW = 170, 165, 22
_PANEL = 30 + _ROW * len(WAYS) + 36  # height of a panel with its axis, and the gap below it


def one_token() -> dict[str, tuple[float, float]]:
    """Return each form's relative time and peak memory for one new token, as measured."""
    found = load(__file__)["forms"]
    return {
        way: (found("time", way=way, case="one token"), found("memory", way=way, case="one token"))
        for way in WAYS
    }


def measured(language: str) -> str:
    """Draw the stored measurement of one new token as dots: a panel and an axis for each unit."""
    text, ways = (texts(__file__, group, language) for group in ("measured", "ways"))
    values = one_token()
    names = {name: shown.replace("`", "") for name, shown in ways.items()}
    drawing = canvas(400, 2 * _PANEL - 6)
    for panel, (kind, (ticks, form)) in enumerate(AXES.items()):
        group, top = drawsvg.Group(data_panel=kind), panel * _PANEL
        write(group, text[kind], 0, top + 8, 12, text_anchor="start", font_weight="bold")
        bottom = top + 30 + _ROW * len(WAYS)
        for tick in ticks:
            x = _LEFT + _LENGTH * tick / ticks[-1]
            faint = {"stroke": INK, "stroke_opacity": 0.15}
            group.append(drawsvg.Line(x, top + 24, x, bottom, **faint))
            write(group, f"{tick:g}", x, bottom + 10, 11)
        for row, (name, pair) in enumerate(values.items()):
            y, x = top + 35 + _ROW * row, _LEFT + _LENGTH * pair[panel] / ticks[-1]
            write(group, names[name], 0, y, 12, text_anchor="start")
            group.append(drawsvg.Line(_LEFT, y, x, y, stroke=INK, stroke_opacity=0.4))
            dot = {"fill": ACCENT, "data_dot": name, "data_value": pair[panel]}
            group.append(drawsvg.Rectangle(x - 4.5, y - 4.5, 9, 9, rx=4.5, **dot))
            write(group, form.format(pair[panel]), x + 9, y, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=names[name], time=pair[0], memory=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows)
    title = text["title"]
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", title, desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "sharing": sharing,
    "measured": measured,
}
