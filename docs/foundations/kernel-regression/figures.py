"""Figures of the chapter on kernel regression."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import matplotlib.style
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import KernelRegression, nadaraya_watson
from docs._kit import chart
from docs._kit.draw import SHADE, canvas, cells, finish, write
from docs._kit.text import texts

from .tables import KEYS, QUERY, VALUES

KEY = "foundations-kernel-regression"
WIDTHS = (0.03, 0.23, 2.0)
SHOWN_KEYS, SHOWN_QUERIES = torch.arange(7.0), torch.arange(0.0, 6.5, 1.5)
SHOWN_WIDTH = 1.0
MARK = 0.14  # half the height of the mark of a pair


def pairs() -> tuple[Tensor, Tensor]:
    """Return the 40 pairs that the chapter's examples make: a curve, and noise."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        x = torch.linspace(0, 6, 40, dtype=torch.float64)
        return x, 2 * torch.sin(x) + 0.5 * torch.randn(40, dtype=torch.float64)


def losses(width: float) -> tuple[float, float]:
    """Return the error on the pairs themselves, and with each pair left out in its turn."""
    x, y = pairs()
    others = ~torch.eye(len(x), dtype=torch.bool)
    itself = F.mse_loss(nadaraya_watson(x, x, y, width=width), y)
    left_out = F.mse_loss(nadaraya_watson(x, x, y, width=width, attn_mask=others), y)
    return itself.item(), left_out.item()


def error(width: float) -> float:
    """Return the error against the curve without noise, at 200 places."""
    new = torch.linspace(0, 6, 200, dtype=torch.float64)
    return F.mse_loss(nadaraya_watson(new, *pairs(), width=width), 2 * torch.sin(new)).item()


class Learned(NamedTuple):
    """A width after 200 steps of training, and the loss there."""

    width: float
    loss: float


@functools.cache
def learn(*, leave_one_out: bool) -> Learned:
    """Learn the width by Adam from 1, on all pairs or with each one's own left out."""
    x, y = pairs()
    mask = ~torch.eye(len(x), dtype=torch.bool) if leave_one_out else None
    regression = KernelRegression(width=1.0)
    optimizer = torch.optim.Adam(regression.parameters(), lr=0.05)
    for _ in range(200):
        loss = F.mse_loss(regression(x, x, y, mask), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    width = regression.width.item()
    return Learned(width, losses(width)[leave_one_out])


def numbers() -> dict[str, str]:
    """Return what was measured, as text for the chapter's sentences."""
    right, wrong = learn(leave_one_out=True), learn(leave_one_out=False)
    return {
        "learned_error": f"{error(right.width):.2f}",
        "learned_loss": f"{right.loss:.2f}",
        "learned_width": f"{right.width:.2f}",
        "own_error": f"{error(wrong.width):.2f}",
        "own_loss": f"{wrong.loss:.2f}",
        "own_width": f"{wrong.width:.2f}",
        "width_middle": f"{WIDTHS[1]:g}",
        "width_narrow": f"{WIDTHS[0]:g}",
        "width_wide": f"{WIDTHS[2]:g}",
    }


def ways(language: str) -> str:
    """Chart three ways to predict between the chapter's three pairs."""
    text = texts(__file__, "ways", language)
    keys, values = torch.tensor(KEYS), torch.tensor(VALUES)
    grid = torch.linspace(-0.5, 3.5, 201)
    (answer,) = nadaraya_watson(torch.tensor([QUERY]), keys, values).tolist()
    said = {"mean": f"{values.mean():.2f}", "query": f"{QUERY:g}", "answer": f"{answer:.1f}"}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 236)
        figure.text(20 / 400, 1 - 4 / 236, "y", va="top", ha="right")
        axes = chart.panel(figure, 30, 16, 250, 190)
        axes.set_xlim(-0.5, 3.5)
        axes.set_ylim(0, 11)
        chart.set_ticks(axes, "x", {place: str(place) for place in range(4)})
        chart.set_ticks(axes, "y", {height: str(height) for height in (0, 2, 4, 6, 8, 10)})
        nearest = values[(grid[:, None] - keys).abs().argmin(1)]
        kernel = nadaraya_watson(grid, keys, values)
        dots, dashes = (0, (1, 2)), (0, (4, 2))
        mean = values.mean().expand(len(grid))
        axes.plot(grid, mean, color=chart.INK, linestyle=dots, linewidth=1.5, gid="part:mean")
        look = {"color": chart.ACCENT_2, "linestyle": dashes, "linewidth": 1.5}
        axes.plot(grid, nearest, **look, gid="part:nearest")
        axes.plot(grid, kernel, color=chart.ACCENT, linewidth=2.5, gid="part:kernel")
        squares = {"marker": "s", "markersize": 8, "markeredgewidth": 0, "color": chart.INK}
        axes.plot(keys, values, **squares, linestyle="none", gid="part:pairs")
        dot = {"marker": "o", "markersize": 9, "markeredgewidth": 0, "color": chart.ACCENT}
        axes.plot([QUERY], [answer], **dot, linestyle="none", gid="part:answer")
        for name, height in (("mean", mean[-1]), ("nearest", 10.3), ("kernel", kernel[-1] - 0.4)):
            axes.text(3.6, float(height), text[name], gid=f"part:{name}-label", va="center")
        figure.text(280 / 400, 4 / 236, "x", ha="right", va="baseline")
        return chart.finish(figure, f"{KEY}-ways", text["title"], text["desc"].format(**said))


def fit(language: str) -> str:
    """Chart the pairs, the curve they were made from, and the fit with three widths."""
    text = texts(__file__, "fit", language)
    x, y = pairs()
    grid = torch.linspace(0, 6, 91, dtype=torch.float64)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 379)
        for index, width in enumerate(WIDTHS):
            top = 26 + 121 * index
            name = f"{text['width']} {width:g}"
            figure.text(28 / 340, 1 - (top - 20) / 379, name, weight="bold", va="top")
            figure.text(20 / 340, 1 - (top - 20) / 379, "y", va="top", ha="right")
            axes = chart.panel(figure, 28, top, 300, 75)
            axes.set_xlim(-0.1, 6.1)
            axes.set_ylim(-3.2, 3.2)
            chart.set_ticks(axes, "x", {place: str(place) for place in range(7)})
            chart.set_ticks(axes, "y", {-2: "−2", 0: "0", 2: "2"})
            dots = {"color": chart.INK, "linestyle": (0, (1, 2)), "linewidth": 1}
            axes.plot(grid[::3], 2 * torch.sin(grid[::3]), **dots, gid=f"part:curve-{index}")
            nothing = torch.full_like(y, torch.nan)  # between two marks
            squares = torch.stack([y - MARK, y + MARK, nothing], dim=1).flatten()
            marks = {"color": chart.ACCENT_2, "linewidth": 4, "solid_capstyle": "butt"}
            axes.plot(x.repeat_interleave(3), squares, **marks, gid=f"part:pairs-{index}")
            prediction = nadaraya_watson(grid, x, y, width=width)
            axes.plot(grid, prediction, color=chart.ACCENT, linewidth=2, gid=f"part:fit-{index}")
        figure.text(328 / 340, 6 / 379, "x", ha="right", va="baseline")
        desc = text["desc"].format(narrow=WIDTHS[0], middle=WIDTHS[1], wide=f"{WIDTHS[2]:g}")
        return chart.finish(figure, f"{KEY}-fit", text["title"], desc)


def weights(language: str) -> str:
    """Draw how much weight each query gives to each key."""
    text = texts(__file__, "weights", language)
    _, matrix = nadaraya_watson(
        SHOWN_QUERIES, SHOWN_KEYS, 0 * SHOWN_KEYS, width=SHOWN_WIDTH, need_weights=True
    )
    left, top, width, height = 66, 50, 38, 28
    drawing = canvas(340, top + 5 * height + 1)
    write(drawing, f"{text['query']} ↓", left - 8, 36, 12, text_anchor="end")
    write(drawing, f"{text['key']} →", left + 3.5 * width, 10, 12)
    cells(drawing, (SHADE * matrix / matrix.max()).tolist(), left, top, width, height)
    for column, key in enumerate(SHOWN_KEYS.tolist()):
        write(drawing, f"{key:g}", left + (column + 0.5) * width, 36, font_weight="bold")
    for row, query in enumerate(SHOWN_QUERIES.tolist()):
        middle = top + (row + 0.5) * height
        write(drawing, f"{query:g}", left - 12, middle, text_anchor="end", font_weight="bold")
        for column in range(len(SHOWN_KEYS)):
            place = left + (column + 0.5) * width
            number = f"{matrix[row, column]:.2f}"
            write(drawing, number, place, middle, 12, data_cell=f"{row},{column}")
    comma, stop = text["join"]
    rows = stop.join(
        text["row"].format(query=query, weights=comma.join(f"{weight:.2f}" for weight in row))
        for query, row in zip(SHOWN_QUERIES.tolist(), matrix.tolist(), strict=True)
    )
    desc = text["desc"].format(rows=rows, width=SHOWN_WIDTH)
    return finish(drawing.as_svg(header=""), f"{KEY}-weights", text["title"], desc)


TOP = 0.75  # above it, no width is of interest


def loss(language: str) -> str:
    """Chart the loss on the pairs themselves and the leave-one-out loss against the width."""
    text = texts(__file__, "loss", language)
    learned = learn(leave_one_out=True)
    said = {"width": f"{learned.width:.2f}", "loss": f"{learned.loss:.2f}"}
    grid = torch.logspace(-1.69897, 0.69897, 61, dtype=torch.float64).tolist()
    itself, left_out = zip(*(losses(width) for width in grid), strict=True)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(360, 266)
        figure.text(0, 1 - 4 / 266, text["y"], weight="bold", va="top")
        axes = chart.panel(figure, 30, 28, 316, 204)
        axes.set_xscale("log")
        axes.set_xlim(0.02, 5)
        axes.set_ylim(-0.02, TOP)
        ticks = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
        chart.set_ticks(axes, "x", {tick: f"{tick:g}" for tick in ticks})
        chart.set_ticks(axes, "y", {0: "0", 0.2: "0.2", 0.4: "0.4", 0.6: "0.6"})
        dashed = {"color": chart.ACCENT_2, "linestyle": (0, (4, 2)), "linewidth": 2}
        for name, values, look in (
            ("itself", itself, dashed),
            ("left-out", left_out, {"color": chart.ACCENT, "linewidth": 2}),
        ):
            seen = [
                (width, value) for width, value in zip(grid, values, strict=True) if value < TOP
            ]
            axes.plot(*zip(*seen, strict=True), **look, gid=f"part:{name}")
        dot = {"marker": "o", "markersize": 9, "markeredgewidth": 0, "color": chart.ACCENT}
        axes.plot([learned.width], [learned.loss], **dot, linestyle="none", gid="part:learned")
        axes.text(0.021, 0.36, text["left-out"], gid="part:left-out-label", va="bottom", ha="left")
        axes.text(0.7, 0.08, text["itself"], gid="part:itself-label", va="bottom", ha="left")
        axes.text(0.22, 0.38, text["learned"].format(**said), va="bottom", ha="center")
        figure.text(346 / 360, 6 / 266, text["x"], ha="right", va="baseline")
        return chart.finish(figure, f"{KEY}-loss", text["title"], text["desc"].format(**said))


FIGURES: dict[str, Callable[[str], str]] = {
    "ways": ways,
    "fit": fit,
    "weights": weights,
    "loss": loss,
}
