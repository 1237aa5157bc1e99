"""Figures of the chapter on bilinear attention."""

import functools
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from matplotlib.axes import Axes
from torch import Tensor

from attn_docs import MultiHeadAttention
from attn_docs.practice.bugs_that_train import LENGTH, NextWord, fit
from attn_docs.sentence import KINDS, projections
from docs._kit import chart
from docs._kit.draw import ACCENT, SHADE, SOFT, canvas, cells, finish, write
from docs._kit.measure import one_thread
from docs._kit.text import texts

KEY = "foundations-bilinear"
SIZES = (2, 4, 8, 16, 32, 64, 128)
STARTS = ("small", "unit")
DIVISORS = ("fourth", "square")


@functools.cache
def measure_variance(start: str, divisor: str, seed: int = 0) -> tuple[float, ...]:
    """Measure the variance of qᵀWk over a divisor for queries of size d and keys of size 2d.

    Queries and keys are unit-normal, independent and float64; 32 matrices, 512 pairs each.

    Args:
        start: "small" if W's entries have standard deviation (d_q·d_k)^(-1/4), "unit" if 1.
        divisor: "fourth" for (d_q·d_k)^(1/4), "square" for √(d_q·d_k).
        seed: Where the random numbers start; all settings see the same ones.
    """
    power = {"fourth": 0.25, "square": 0.5}[divisor] + {"small": 0.25, "unit": 0.0}[start]
    return tuple(
        variance / (2 * d * d) ** (2 * power)
        for d, variance in zip(SIZES, _products(seed), strict=True)
    )


@functools.cache
def _products(seed: int) -> tuple[float, ...]:
    """Return the variance of qᵀWk itself, W's entries being unit-normal."""
    generator = torch.Generator().manual_seed(seed)
    variances = []
    for d in SIZES:
        query, weight, key = (
            torch.randn(32, *shape, generator=generator, dtype=torch.float64)
            for shape in ((512, d), (d, 2 * d), (512, 2 * d))
        )
        variances.append(((query @ weight) * key).sum(-1).var().item())
    return tuple(variances)


def table(language: str) -> str:
    """Draw the product of the sentence's query and key projections as a table of kinds."""
    text = texts(__file__, "table", language)
    w_q, w_k, _ = projections()
    worth = (w_q @ w_k.T)[: len(KINDS), : len(KINDS)]
    left, top, width, height = 116, 58, 68, 36
    drawing = canvas(left + len(KINDS) * width + 2, top + len(KINDS) * height + 1)
    write(drawing, f"{text['asks']} ↓", left - 12, 40, 12, text_anchor="end")
    write(drawing, f"{text['offers']} →", left + len(KINDS) * width / 2, 12, 12)
    cells(drawing, (SHADE * worth).tolist(), left, top, width, height)
    for row, kind in enumerate(KINDS):
        middle = top + (row + 0.5) * height
        write(drawing, text[kind], left - 12, middle, 12, text_anchor="end", font_weight="bold")
        write(drawing, text[kind], left + (row + 0.5) * width, 40, 12, font_weight="bold")
        for column, number in enumerate(worth[row].tolist()):
            x = left + (column + 0.5) * width
            write(drawing, f"{number:g}", x, middle, data_cell=f"{row},{column}")
    pairs = text["join"].join(
        text["pair"].format(asks=text[KINDS[row]], offers=text[KINDS[column]])
        for row, column in worth.nonzero().tolist()
    )
    desc = text["desc"].format(pairs=pairs)
    return finish(drawing.as_svg(header=""), f"{KEY}-table", text["title"], desc)


@functools.cache
def learned() -> Tensor:
    """Return, of a trained head, what its matrix makes of each two positions, as weights (n, n)."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(32, num_heads=2)
    with one_thread():
        model = NextWord(layer).double()
        fit(model)
    w_q, w_k = layer.q_proj.weight[:16].mT, layer.k_proj.weight[:16].mT
    scores = (model.places @ w_q @ w_k.mT @ model.places.mT / 16**0.5).detach()
    future = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1)


def positions(language: str) -> str:
    """Draw what the matrix of the trained head makes of each two positions."""
    text = texts(__file__, "positions", language)
    weights, side, left, top = learned(), 24, 84, 46
    drawing = canvas(left + LENGTH * side + 4, top + LENGTH * side + 4)
    write(drawing, f"{text['asks']} ↓", left - 12, 30, 12, text_anchor="end")
    write(drawing, f"{text['offers']} →", left + LENGTH * side / 2, 10, 12)
    for i in range(LENGTH):
        write(drawing, str(i), left + (i + 0.5) * side, 32, 12)
        write(drawing, str(i), left - 14, top + (i + 0.5) * side, 12)
        for j in range(i + 1):
            place = (left + j * side + 1, top + i * side + 1, side - 2, side - 2)
            drawing.append(drawsvg.Rectangle(*place, rx=2, fill=SOFT))
            weight = weights[i, j].item()
            look = {"fill": ACCENT, "fill_opacity": round(weight, 2)}
            drawing.append(drawsvg.Rectangle(*place, rx=2, **look, data_weight=f"{weight:.2f}"))
    desc = text["desc"].format(back=f"{three_back():.0f}")
    return finish(drawing.as_svg(header=""), f"{KEY}-positions", text["title"], desc)


def three_back() -> float:
    """Return the percentage of the weight that falls three places back, from position 3 on."""
    return 100 * learned().diagonal(-3).mean().item()


_MARKS = {"linewidth": 2, "markersize": 5, "markeredgewidth": 0}
_LOOKS = {
    "fourth": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid", **_MARKS},
    "square": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2)), **_MARKS},
}
_TICKS = {0.01: "0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100"}  # one range: slopes compare
_LABELS = {
    "small": {"fourth": (128, 1.6, "right", "bottom"), "square": (20, 0.022, "right", "top")},
    "unit": {"fourth": (24, 42, "right", "bottom"), "square": (128, 0.65, "right", "top")},
}


def variance(language: str) -> str:
    """Chart the variance of the score against size, for both starts and both divisors."""
    text = texts(__file__, "variance", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 356)
        for index, start in enumerate(STARTS):
            top = 26 + 166 * index
            figure.text(0, 1 - (top - 20) / 356, text[start], weight="bold", va="top")
            _plot(chart.panel(figure, 34, top, 288, 112), start, text)
        figure.text(322 / 340, 4 / 356, text["x"], ha="right", va="baseline")
        ends = {
            f"{start}_{divisor}": _round(measure_variance(start, divisor)[-1])
            for start in STARTS
            for divisor in DIVISORS
        }
        desc = text["desc"].format(**ends)
        return chart.finish(figure, f"{KEY}-variance", text["title"], desc)


def _plot(axes: Axes, start: str, text: dict[str, str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(SIZES[0] * 0.85, SIZES[-1])
    chart.set_ticks(axes, "x", {d: str(d) for d in SIZES})
    axes.set_yscale("log")
    axes.set_ylim(min(_TICKS) / 2.5, max(_TICKS) * 3)
    chart.set_ticks(axes, "y", _TICKS)
    for divisor, look in _LOOKS.items():
        name = f"{start}-{divisor}"
        axes.plot(SIZES, measure_variance(start, divisor), **look, gid=f"part:{name}")
        x, y, across, up = _LABELS[start][divisor]
        axes.text(x, y, text[divisor], ha=across, va=up, gid=f"part:{name}-label")


def _round(number: float) -> str:
    """Write a number with two significant digits and no exponent."""
    return f"{float(f'{number:.2g}'):g}"


def numbers() -> dict[str, str]:
    """Return the variances at the largest size as text."""
    return {
        f"{start}_{divisor}_{SIZES[-1]}": _round(measure_variance(start, divisor)[-1])
        for start in STARTS
        for divisor in DIVISORS
    } | {"three_back": f"{three_back():.0f}"}


FIGURES: dict[str, Callable[[str], str]] = {
    "positions": positions,
    "table": table,
    "variance": variance,
}
