"""Figures of the chapter on added positions: smooth digits, dot products, learned rows."""

import math
from collections.abc import Callable

import matplotlib.style
import torch
from matplotlib.axes import Axes

from attn_docs import sinusoidal
from docs._kit import chart
from docs._kit.text import texts

from .tables import products

KEY = "position-sinusoidal"
DIGITS, LAST = 4, 31
FAR = 40


def _digit(axes: Axes, label: str, bottom: str | None) -> None:
    """Leave a row of a panel with a name at its left, and positions below the lowest."""
    axes.set(xlim=(0, LAST), ylim=(-1.25, 1.25))
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    chart.set_ticks(axes, "y", {0: label})
    axes.tick_params("y", pad=6)
    ticks = (0, 8, 16, 24, LAST)
    chart.set_ticks(axes, "x", {at: str(at) if bottom else "" for at in ticks})
    if bottom:
        axes.text(1, -0.95, bottom, transform=axes.transAxes, ha="right", va="center")


def hands(language: str) -> str:
    """Chart binary digits beside pairs that are each half as fast as the one before."""
    text, height = texts(__file__, "hands", language), 232
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, height)
        for left, name in ((54, "bits"), (250, "waves")):
            figure.text(left / 400, 1 - 10 / height, text[name], va="center", fontweight="bold")
        # each pair half as fast: base 16 over four pairs
        dots = sinusoidal(torch.arange(LAST + 1), 2 * DIGITS, base=2.0**DIGITS)
        for i in range(DIGITS):
            bottom = text["position"] if i == DIGITS - 1 else None
            axes = chart.panel(figure, 54, 24 + 44 * i, 128, 36)
            _digit(axes, text["bit"].format(i=i), bottom)
            turns = torch.tensor([*range(0, LAST, 2**i), LAST])  # where the digit may change
            axes.step(turns, 2 * ((turns >> i) % 2) - 1, where="post", color=chart.ACCENT, lw=1.5,
                      gid=f"part:bit-{i}")  # fmt: skip
            axes = chart.panel(figure, 250, 24 + 44 * i, 140, 36)
            _digit(axes, text["pair"].format(i=i), bottom)
            fine = torch.linspace(0, LAST, (93, 62, 31, 31)[i] + 1, dtype=torch.float64)
            smooth = sinusoidal(fine, 2 * DIGITS, base=2.0**DIGITS)[:, 2 * i : 2 * i + 2]
            axes.plot(fine, smooth[:, 0], color=chart.ACCENT, lw=1.5, gid=f"part:sin-{i}")
            axes.plot(fine, smooth[:, 1], color=chart.ACCENT_2, lw=1, ls="--",
                      gid=f"part:cos-{i}")  # fmt: skip
            # all dots are one path: of lines as short as they are thick
            x = [at + side for at in range(LAST + 1) for side in (-0.3, 0.3, math.nan)]
            y = dots[:, 2 * i].repeat_interleave(3)
            axes.plot(x, y, color=chart.ACCENT, lw=2.8, clip_on=False, gid=f"part:dots-{i}")
        return chart.finish(figure, f"{KEY}-hands", text["title"], text["desc"])


def distance(language: str) -> str:
    """Chart the dot product of two positions over their distance, right and wrong."""
    text = texts(__file__, "distance", language)
    along = range(-FAR, FAR + 1)
    right = [products("right", at)[0] for at in along]
    low, high = zip(*(products("dimensions", at) for at in along), strict=True)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 226)
        axes = chart.panel(figure, 36, 30, 350, 150)
        axes.set(xlim=(-FAR, FAR), ylim=(0, 1.25))
        band = [*zip(along, low, strict=True), *reversed(list(zip(along, high, strict=True)))]
        axes.fill(*zip(*band, strict=True), facecolor=(chart.ACCENT_2, 0.4), lw=0,
                  gid="part:wrong")  # fmt: skip
        axes.plot(along, right, color=chart.ACCENT, lw=1.8, gid="part:right")
        axes.text(-FAR + 1, right[0] - 0.12, text["right"], ha="left", va="center")
        axes.text(FAR, 1.12, text["wrong"], ha="right", va="center")
        chart.set_ticks(axes, "x", {at: str(at).replace("-", "−") for at in (-30, -15, 0, 15, 30)})
        chart.set_ticks(axes, "y", {0: "0", 0.5: "0.5", 1: "1"})
        axes.text(-0.09, 1.12, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.24, text["along"], transform=axes.transAxes, ha="right", va="center")
        at = along.index(3)
        said = {"right": right[at], "low": low[at], "high": high[at]}
        desc = text["desc"].format(**{key: f"{value:.2f}" for key, value in said.items()})
        return chart.finish(figure, f"{KEY}-distance", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "hands": hands,
    "distance": distance,
}
