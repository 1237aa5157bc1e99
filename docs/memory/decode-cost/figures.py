"""Figures of the chapter on what decoding costs."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
from matplotlib.axes import Axes

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import LENGTHS, NAMES
from .tables import H100_BYTES, H100_FLOPS, MODELS, bytes_ratio, cost, ridge

KEY = "memory-decode-cost"


def attainable(intensity: float) -> float:
    """Return the FLOP in a second that an H100 reaches at most, in units of 10¹²."""
    return min(H100_FLOPS, H100_BYTES * intensity) / 1e12


RANGES = {  # what moves the intensity, from and to: batch 1 to 64, and 1 to 256 new tokens
    "batch": (1, 64),
    "new": (cost("Llama 3 8B").intensity, 256 * cost("Llama 3 8B").intensity),
}
TP = 8


def points() -> dict[str, float]:
    """Return the intensity of each model's cache, and of DeepSeek-V3's on one of eight devices."""
    whole = {name: cost(name).intensity for name in MODELS}
    return whole | {"several": cost("DeepSeek-V3", tp=TP).intensity}


def roofline(language: str) -> str:
    """Chart the most that an H100 can compute against the intensity, with models below."""
    text = texts(__file__, "roofline", language)
    width, height = 352, 330
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        figure.text(0, 1 - 8 / height, text["up"], va="center", size=12)
        axes = chart.panel(figure, 34, 24, 306, 260)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.5, 2000)
        axes.set_ylim(0.1, 2500)
        chart.set_ticks(axes, "x", {x: f"{x}" for x in (1, 10, 100, 1000)})
        chart.set_ticks(axes, "y", {y: f"{y}" for y in (1, 10, 100, 1000)})
        corners = [0.5, ridge(), 2000]
        roof = {"color": chart.INK, "linewidth": 1.5}
        axes.plot(corners, [attainable(x) for x in corners], **roof, gid="part:roof")
        for name, intensity in points().items():
            _mark(axes, name, intensity, text.get(name, name))
        for row, (name, ends) in enumerate(RANGES.items()):
            _range(axes, name, ends, 0.9 / 3.4**row, text[name])
        axes.text(0.8, 60, text["reads"], size=12)
        axes.text(1900, 1300, text["computes"], size=12, ha="right")
        figure.text(340 / width, 1 - 318 / height, text["right"], ha="right", size=12, va="center")
        return chart.finish(figure, f"{KEY}-roofline", text["title"], _described(text))


def _mark(axes: Axes, name: str, intensity: float, label: str) -> None:
    """Mark a model on the roof; hollow if it is one of several devices."""
    filled = name in MODELS
    mark = {"color": chart.ACCENT, "marker": "s", "markersize": 8, "linestyle": "none"}
    mark |= {} if filled else {"markerfacecolor": "none", "markeredgewidth": 1.5}
    part = name.replace(" ", "-")
    axes.plot([intensity], [attainable(intensity)], **mark, gid=f"part:{part}")
    left = name == "DeepSeek-V3"
    axes.text(
        intensity * (0.8 if left else 1.3),
        attainable(intensity) * (1 if left else 0.92),
        label,
        ha="right" if left else "left",
        va="center" if left else "top",
        size=12,
    )


def _range(axes: Axes, name: str, ends: tuple[float, float], height: float, label: str) -> None:
    """Draw an arrow along the axis of intensities, with what moves it."""
    line = {"color": chart.ACCENT_2, "linewidth": 1.5}
    axes.plot(ends, (height, height), **line, gid=f"part:{name}")
    tip = {"color": chart.ACCENT_2, "marker": ">", "markersize": 7, "linestyle": "none"}
    axes.plot(ends[1:], [height], **tip, gid=f"part:{name}-tip")
    axes.text(ends[0], height * 0.85, label, size=12, va="top")


def _described(text: Words) -> str:
    shown = text["comma"].join(
        text["point"].format(
            name=text.get(name, name), intensity=f"{x:.0f}", rate=f"{attainable(x):.0f}"
        )
        for name, x in points().items()
    )
    ranges = text["comma"].join(
        text["range"].format(what=text[name], first=f"{ends[0]:.0f}", last=f"{ends[1]:,.0f}")
        for name, ends in RANGES.items()
    )
    top = f"{H100_FLOPS / 1e12:.0f}"
    return text["desc"].format(ridge=f"{ridge():.0f}", top=top, points=shown, ranges=ranges)


def pairs() -> dict[str, tuple[float, float]]:
    """Return bytes and time at the greatest length, over multi-head attention's."""
    found = load(__file__)["steps"]
    return {
        name: (bytes_ratio(name), found("time", attention=name, words=LENGTHS[-1]))
        for name in NAMES
        if name != "repeat"  # so slow that no other bar could be seen
    }


def measured(language: str) -> str:
    """Draw the stored measurement as bars: bytes and time over multi-head's."""
    names = texts(__file__, "names", language)
    text, values = texts(__file__, "measured", language), pairs()
    drawing = canvas(340, 28 + 54 * len(values))
    full = max(1.0, *(time for _, time in values.values()))
    for label, colour, left in (("bytes", ACCENT_2, 0), ("time", ACCENT, 120)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, text[label], left + 18, 10, 12, text_anchor="start")
    for index, (name, pair) in enumerate(values.items()):
        top = 28 + 54 * index
        group = drawsvg.Group(data_attention=name)
        shown = names[name]
        write(group, shown, 0, top + 8, 12, text_anchor="start", font_weight="bold")
        for row, (value, colour) in enumerate(zip(pair, (ACCENT_2, ACCENT), strict=True)):
            y, width = top + 18 + 14 * row, 270 * value / full
            kind = ("bytes", "time")[row]
            group.append(drawsvg.Rectangle(0, y, width, 12, fill=colour, data_bar=kind))
            write(group, f"{value:.2f}×", width + 6, y + 6, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=names[name], size=pair[0], time=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "roofline": roofline,
    "measured": measured,
}
