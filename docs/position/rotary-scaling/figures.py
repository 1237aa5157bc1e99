"""Figures of the chapter on rescaled rotary frequencies: angles met in training, and the chart."""

import math
from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, circle, finish, write
from docs._kit.text import texts

from .tables import DIM, FACTOR, ORIGINAL, RULES, SHARE, THETA, frequencies

KEY = "position-rotary-scaling"
TRAINED, LONG, WAVE = 100, 400, 628.3  # tokens of training, of the long text, of a full turn
_RADIUS = 42
_STYLES = {
    "linear": (chart.INK, "-"),
    "ntk": (chart.INK, "--"),
    "yarn": (chart.ACCENT, "-"),
    "llama3": (chart.ACCENT_2, "--"),
    "proportional": (chart.INK, ":"),
}


def turned(name: str, wave: float) -> tuple[float, float]:
    """Return how far, in turns, a slow pair gets in training and in the long text."""
    slower = LONG / TRAINED if name == "rescaled" else 1.0
    return TRAINED / wave, LONG / wave / slower


def angles(language: str) -> str:
    """Draw what part of the circle a slow pair has met, and where a longer text takes it."""
    text = texts(__file__, "angles", language)
    drawing = canvas(400, 172)
    for index, name in enumerate(("trained", "plain", "rescaled")):
        x, y = 68 + 132 * index, 92
        seen, reached = turned(name, WAVE)
        group = drawsvg.Group(data_case=name, data_seen=round(seen, 4), data_to=round(reached, 4))
        write(group, text[name], x, 14, 13, font_weight="bold")
        write(group, text["lengths"][index], x, 32, 12)
        circle(group, x, y, _RADIUS)
        if name == "plain":
            _arc(group, x, y, 0, reached, ACCENT_2)
        _arc(group, x, y, 0, seen, ACCENT)
        tip = seen if name == "trained" else reached
        end = x + _RADIUS * math.cos(math.tau * tip), y - _RADIUS * math.sin(math.tau * tip)
        group.append(drawsvg.Line(x, y, *end, stroke=INK, stroke_width=2))
        write(group, text["said"][index], x, 158, 12)
        drawing.append(group)
    desc = text["desc"]
    return finish(drawing.as_svg(header=""), f"{KEY}-angles", text["title"], desc, zoom=1.3)


def _arc(parent: drawsvg.Group, x: float, y: float, start: float, end: float, colour: str) -> None:
    """Draw an arc from one part of a turn to another, counter-clockwise."""
    first, last = (
        (x + _RADIUS * math.cos(math.tau * t), y - _RADIUS * math.sin(math.tau * t))
        for t in (start, end)
    )
    path = drawsvg.Path(fill="none", stroke=colour, stroke_width=6)
    path.M(*first).A(_RADIUS, _RADIUS, 0, int(end - start > 0.5), 0, *last)
    parent.append(path)


def slower(name: str) -> tuple[list[float], list[float]]:
    """Return each pair's wavelength without the rule, and how many times the rule slows it."""
    plain, found = frequencies(THETA, None), frequencies(THETA, RULES[name])
    rotated = found > 0
    waves = 2 * math.pi / plain[rotated]
    return waves.tolist(), (plain / found)[rotated].tolist()


def wavelengths(language: str) -> str:
    """Draw how many times each rule slows each pair."""
    text = texts(__file__, "chart", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 262)
        axes = chart.panel(figure, 34, 34, 352, 172)
        axes.set(xscale="log", yscale="log", xlim=(4, 4e6), ylim=(0.7, 10))
        axes.axvline(ORIGINAL, color=chart.INK, linewidth=1, alpha=0.5)
        for name, (colour, style) in _STYLES.items():
            (line,) = axes.plot(*slower(name), color=colour, linestyle=style, linewidth=2)
            line.set_gid(f"part:{name}")
        last = slower("proportional")[0][-1]
        axes.plot([last], [1], color=chart.INK, marker="o", linestyle="none")
        for name, (x, y, where) in {
            "linear": (6, 9.2, "left"),
            "ntk": (1.6e5, 3.9, "left"),
            "yarn": (2.9e3, 5.2, "right"),
            "llama3": (1.1e4, 2.1, "left"),
            "proportional": (6, 0.82, "left"),
        }.items():
            axes.text(x, y, text[name], ha=where, va="center", color=chart.INK)
        for colour, ends, high in (
            (chart.ACCENT, (3.1e3, 5.7e3), 5.2),
            (chart.ACCENT_2, (3.9e3, 1e4), 2.1),
        ):
            axes.plot(ends, [high, high], color=colour, linewidth=0.8)  # from a line to its label
        axes.text(3.6e6, 9.2, text["shared"], ha="right", va="center", color=chart.INK)
        axes.text(ORIGINAL * 1.2, 0.82, text["trained"], ha="left", va="center")
        chart.set_ticks(axes, "x", dict(zip((10, 1e3, 1e5), text["powers"], strict=True)))
        chart.set_ticks(axes, "y", {tick: f"{tick}×" for tick in (1, 2, 4, 8)})
        axes.text(0, 1.12, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.2, text["right"], transform=axes.transAxes, ha="right", va="center")
        desc = text["desc"].format(
            dim=DIM, theta=f"{THETA:,.0f}", length=f"{ORIGINAL:,}", factor=f"{FACTOR:.0f}",
            share=SHARE,
        )  # fmt: skip
        return chart.finish(figure, f"{KEY}-chart", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"angles": angles, "chart": wavelengths}
