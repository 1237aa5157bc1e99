"""Figures of the chapter on what decoding costs."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
from matplotlib.axes import Axes

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, ON_ACCENT, box, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import LENGTHS, NAMES, ROWS, rows_cost
from .tables import (
    BATCHES,
    H100_BYTES,
    H100_FLOPS,
    MEMORIES,
    PROMPT,
    predicted,
    ridge,
    step,
)

KEY = "memory-decode-cost"


def attainable(intensity: float) -> float:
    """Return the FLOP in a second that an H100 reaches at most, in units of 10¹²."""
    return min(H100_FLOPS, H100_BYTES * intensity) / 1e12


def points() -> dict[str, float]:
    """Return the intensity of each step that is marked on the H100's roof."""
    steps = {f"batch {b}": step(b).intensity for b in BATCHES}
    return steps | {"prefill": step(1, PROMPT, PROMPT).intensity}


_AXES = {"x": (0.3, 3000), "y": (0.002, 3000)}  # FLOP for each byte; TFLOP in a second
# where the label of a point stands: its side, and how far above the point in units
_LABELS = {
    "batch 1": ("right", 0),
    "batch 8": ("right", 0),
    "batch 64": ("right", 0),
    "prefill": ("right", -16),
}


def thread_roof(intensity: float) -> float:
    """Return the FLOP in a second that the measured thread reaches at most, in units of 10¹²."""
    found = load(__file__)["rows"]
    return min(found("computes"), found("reads") * intensity) / 1e3


def measured_points() -> list[tuple[float, float]]:
    """Return intensity and measured 10¹² FLOP in a second of products with more and more rows."""
    found = load(__file__)["rows"]
    return [(rows_cost(n).intensity, found("product", rows=n) / 1e3) for n in ROWS]


def roofline(language: str) -> str:
    """Chart what an H100 can compute at most, and a thread that was measured, by intensity."""
    text = texts(__file__, "roofline", language)
    width, height = 400, 380
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        figure.text(0, 1 - 8 / height, text["up"], va="center", size=12)
        axes = chart.panel(figure, 40, 24, 352, 310)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(*_AXES["x"])
        axes.set_ylim(*_AXES["y"])
        chart.set_ticks(axes, "x", {x: f"{x:,}" for x in (1, 10, 100, 1000)})
        ticks = (0.01, 0.1, 1, 10, 100, 1000)
        chart.set_ticks(axes, "y", {y: f"{y:,}" for y in ticks})
        _roofs(axes)
        for name, intensity in points().items():
            _mark(axes, name, intensity, text[name])
        dots = {"color": chart.ACCENT_2, "marker": "o", "markersize": 6, "linestyle": "none"}
        axes.plot(*zip(*measured_points(), strict=True), **dots, gid="part:measured")
        axes.text(3, 0.0065, text["measured"], size=12, va="top")
        axes.text(0.34, 70, text["reads"], size=12)
        axes.text(2800, 1500, text["computes"], size=12, ha="right")
        figure.text(392 / width, 1 - 368 / height, text["right"], ha="right", size=12, va="center")
        return chart.finish(figure, f"{KEY}-roofline", text["title"], _described(text))


def _roofs(axes: Axes) -> None:
    """Draw the roof of the H100, and that of the thread."""
    thread = load(__file__)["rows"]
    _roof(axes, "roof", ridge(), attainable)
    _roof(axes, "thread", thread("computes") / thread("reads"), thread_roof)


def _roof(axes: Axes, name: str, corner: float, top: Callable[[float], float]) -> None:
    """Draw one roof: up to its corner, and on along the top."""
    corners = [_AXES["x"][0], corner, _AXES["x"][1]]
    look = {"color": chart.INK, "linewidth": 1.5}
    axes.plot(corners, [top(x) for x in corners], **look, gid=f"part:{name}")


def _mark(axes: Axes, name: str, intensity: float, label: str) -> None:
    """Mark a step on the H100's roof."""
    mark = {"color": chart.ACCENT, "marker": "s", "markersize": 8, "linestyle": "none"}
    axes.plot([intensity], [attainable(intensity)], **mark, gid=f"part:{name.replace(' ', '-')}")
    side, up = _LABELS[name]
    place = (-9 if side == "left" else 9, up - 5 if side == "right" else up)
    axes.annotate(
        label,
        (intensity, attainable(intensity)),
        xytext=place,
        textcoords="offset points",
        ha="right" if side == "left" else "left",
        va="center",
        size=12,
    )


def _said(text: Words, points: dict[str, float]) -> str:
    """Return points of a roofline in words."""
    shown: str = text["comma"].join(
        text["point"].format(name=text[name], intensity=f"{x:.1f}", rate=f"{attainable(x):.1f}")
        for name, x in points.items()
    )
    return shown


def _described(text: Words) -> str:
    dots = text["comma"].join(
        text["dot"].format(intensity=f"{x:.1f}", rate=f"{1e3 * y:.0f}")
        for x, y in measured_points()
    )
    top = f"{H100_FLOPS / 1e12:.0f}"
    return text["desc"].format(
        ridge=f"{ridge():.0f}", top=top, points=_said(text, points()), dots=dots
    )


_BOXES = {  # where each level is drawn: its top, and its height
    "shared": (90, 40),
    "l2": (168, 40),
    "hbm": (246, 54),
    "others": (338, 40),
}


def memory(language: str) -> str:
    """Draw an H100's memories below what computes, joined by pipes as wide as their bandwidth."""
    text, width = texts(__file__, "memory", language), 400
    drawing = canvas(width, 380)
    box(drawing, 0, 0, 190, 44, lit=True, data_level="compute")
    write(drawing, text["compute"][0], 95, 14, 13, font_weight="bold", fill=ON_ACCENT)
    write(drawing, text["compute"][1], 95, 31, 12, fill=ON_ACCENT)
    above = 44
    for name, (top, height) in _BOXES.items():
        bandwidth = MEMORIES[name]
        thick = bandwidth / 1e12
        pipe = (95 - thick / 2, above + 2, thick, top - above - 4)
        drawing.append(drawsvg.Rectangle(*pipe, fill=ACCENT_2, data_pipe=name))
        box(drawing, 0, top, 190, height, data_level=name)
        write(drawing, text[name][0], 95, top + height / 2 - 8, 13, font_weight="bold")
        write(drawing, text[name][1], 95, top + height / 2 + 9, 12)
        rate = text["rate"].format(rate=f"{thick:g}")
        write(drawing, rate, 120, (above + top) / 2, 12, text_anchor="start", font_weight="bold")
        busy = text["busy"].format(flops=f"{H100_FLOPS / bandwidth:,.0f}")
        write(drawing, busy, 198, (above + top) / 2, 12, text_anchor="start")
        for row, line in enumerate(text["notes"][list(_BOXES).index(name)]):
            write(drawing, line, 200, top + 11 + 16 * row, 12, text_anchor="start")
        above = top + height
    said = text["join"].join(
        text["level"].format(name=text[name][0], size=text[name][1], rate=f"{rate / 1e12:g}")
        for name, rate in MEMORIES.items()
    )
    desc = text["desc"].format(levels=said, flops=f"{H100_FLOPS / 1e12:.0f}")
    return finish(drawing.as_svg(header=""), f"{KEY}-memory", text["title"], desc, zoom=1.25)


def pairs() -> dict[str, tuple[float, float]]:
    """Return the milliseconds of a step at the greatest length: predicted and measured."""
    found = load(__file__)["steps"]
    return {
        name: (predicted(name), found("step", attention=name, words=LENGTHS[-1]))
        for name in NAMES
        if name not in ("torch", "repeat")  # other kernels of grouped-query; in the table
    }


def measured(language: str) -> str:
    """Draw the stored measurement as bars: the least time by the formula, and the measured one."""
    names = texts(__file__, "names", language)
    text, values = texts(__file__, "measured", language), pairs()
    drawing = canvas(360, 28 + 54 * len(values))
    full = max(time for _, time in values.values())
    for label, colour, left in (("predicted", ACCENT_2, 0), ("time", ACCENT, 190)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, text[label], left + 18, 10, 12, text_anchor="start")
    for index, (name, pair) in enumerate(values.items()):
        top = 28 + 54 * index
        group = drawsvg.Group(data_attention=name)
        write(group, names[name], 0, top + 8, 12, text_anchor="start", font_weight="bold")
        for row, (value, colour) in enumerate(zip(pair, (ACCENT_2, ACCENT), strict=True)):
            y, width = top + 18 + 14 * row, 270 * value / full
            kind = ("predicted", "time")[row]
            group.append(drawsvg.Rectangle(0, y, width, 12, fill=colour, data_bar=kind))
            write(group, f"{value:.1f} ms", width + 6, y + 6, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=names[name], predicted=pair[0], time=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows, longest=f"{LENGTHS[-1]:,}")
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "memory": memory,
    "roofline": roofline,
    "measured": measured,
}
