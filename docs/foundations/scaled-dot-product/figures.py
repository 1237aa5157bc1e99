"""Figures of the chapter on scaled dot-product attention."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import drawsvg
import matplotlib.style
import torch
from matplotlib.axes import Axes

from attn_docs import attention_weights, masked_softmax
from docs._kit import chart, draw
from docs._kit.draw import (
    ACCENT,
    INK,
    SHADE,
    arrow,
    box,
    canvas,
    finish,
    write,
)
from docs._kit.measured import load
from docs._kit.text import texts

KEY = "foundations-scaled-dot-product"
SIZES = tuple(2**power for power in range(11))
KEYS = 64


class ScaleMeasurement(NamedTuple):
    """What one head size does to the softmax."""

    head_dim: int
    logit_std: float
    """Standard deviation of all logits, the numbers that go into the softmax."""
    entropy: float
    """Entropy of a query's weights in nats, its mean over the queries."""
    gradient_median: float
    """Length of the gradient that reaches a query's logits, its median over the queries."""
    gradient_mean: float
    """The same length, its mean over the queries."""


@functools.cache
def measure_scale(
    *, scaled: bool, sizes: tuple[int, ...] = SIZES, seed: int = 0
) -> tuple[ScaleMeasurement, ...]:
    """Measure logits, weights and gradients for several head sizes, with or without 1/√d.

    Queries and keys are unit-normal, independent and float64: 64 batches of 64 queries and
    64 keys. The loss is the sum of all outputs, each value being one unit-normal number; the
    gradient measured is the loss's gradient with respect to the 64 logits of one query.

    Args:
        scaled: Whether the logits are divided by √d.
        sizes: Head sizes d.
        seed: Where the random numbers start; both settings see the same ones.
    """
    return tuple(_measure(head_dim, head_dim**-0.5 if scaled else 1.0, seed) for head_dim in sizes)


def _measure(head_dim: int, scale: float, seed: int) -> ScaleMeasurement:
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (
        torch.randn(64, KEYS, size, generator=generator, dtype=torch.float64)
        for size in (head_dim, head_dim, 1)
    )
    logits = (query @ key.mT * scale).requires_grad_()
    output = masked_softmax(logits) @ value
    (gradients,) = torch.autograd.grad(output.sum(), logits)
    gradient = gradients.norm(dim=-1)
    weights = attention_weights(query, key, scale=scale)
    return ScaleMeasurement(
        head_dim,
        logits.std().item(),
        torch.special.entr(weights).sum(-1).mean().item(),
        gradient.median().item(),
        gradient.mean().item(),
    )


def numbers() -> dict[str, str]:
    """Return the measurements of `measure_scale` as text.

    Two significant digits, because from seed to seed most of them change in the second or third.
    """
    result = {"entropy_max": f"{math.log(KEYS):.3g}"}
    for scaled in (False, True):
        for measurement in measure_scale(scaled=scaled):
            for name in ("logit_std", "entropy", "gradient_median", "gradient_mean"):
                setting = "scaled" if scaled else "unscaled"
                value = getattr(measurement, name)
                result[f"{name}_{setting}_{measurement.head_dim}"] = f"{value:.2g}"
    return result


_EXAMPLE = {"n": 3, "m": 5, "d": 4, "e": 2}


def block_diagram(language: str) -> str:
    """Draw what becomes of queries, keys and values, with the shape on every arrow."""
    text = texts(__file__, "block-diagram", language)
    stages = texts(draw.__file__, "stages", language) | {"mask": text["mask"]}
    drawing = canvas(340, 428)
    middle, width, height, pitch = 112, 224, 32, 64
    for name, shape, x in (("Q", "nd", 1), ("K", "md", 123), ("V", "me", 239)):
        _tensor(drawing, name, shape, x, 1)
    arrow(drawing, (51, 47), (51, 71))
    arrow(drawing, (173, 47), (173, 71))
    rows = (
        ("score", "QKᵀ", "scores"),
        ("score", "÷ √d", "scores"),
        ("mask", "+ M", "scores"),
        ("normalise", text["softmax"], "weights"),
        ("mix", text["mixing"], ""),
    )
    for index, (stage, operation, result) in enumerate(rows):
        y = 73 + pitch * index
        dashes = {"stroke": INK, "stroke_dasharray": "4 3"} if stage == "mask" else {}
        box(drawing, 1, y, width - 2, height, **dashes)
        write(drawing, stages[stage], 12, y + height / 2, 12, text_anchor="start")
        bold = {"text_anchor": "end", "font_weight": "bold"}
        write(drawing, operation, width - 12, y + height / 2, 12, **bold)
        below = y + height
        if result:
            arrow(drawing, (middle, below + 2), (middle, below + pitch - height - 2))
            _shape(drawing, "nm", middle + 14, below + 16, text[result])
    y = 73 + 4 * pitch
    arrow(drawing, (289, 47), (289, y + height / 2), (width + 2, y + height / 2))
    arrow(drawing, (middle, y + height + 2), (middle, y + height + 20))
    _tensor(drawing, text["output"], "ne", middle - 62, y + height + 22, 124)
    sizes = {"desc": text["desc"].format(**_EXAMPLE), "title": text["title"]}
    return finish(drawing.as_svg(header=""), f"{KEY}-block-diagram", **sizes)


def _tensor(
    drawing: drawsvg.Drawing, name: str, shape: str, x: float, y: float, width: float = 100
) -> None:
    """Draw an input or output: an outlined box with its name and its shape."""
    box(drawing, x, y, width, 44, fill="none", stroke=INK, stroke_width=1.25)
    _grid(drawing, shape, x + 12, y + 22)
    write(drawing, name, x + 42, y + 14, text_anchor="start", font_weight="bold")
    write(drawing, " × ".join(shape), x + 42, y + 31, 12, text_anchor="start")


def _shape(drawing: drawsvg.Drawing, shape: str, x: float, y: float, name: str) -> None:
    """Write beside an arrow what goes along it."""
    _grid(drawing, shape, x, y)
    write(drawing, name + " × ".join(shape), x + 32, y, 12, text_anchor="start")


def _grid(drawing: drawsvg.Drawing, shape: str, x: float, y: float, cell: float = 4.5) -> None:
    """Draw a small matrix of that shape, for example "nm", with the middle of its side at x, y."""
    rows, columns = (_EXAMPLE[letter] for letter in shape)
    width, height, top = columns * cell, rows * cell, y - rows * cell / 2
    lines = drawsvg.Path(fill=ACCENT, fill_opacity=SHADE, stroke=INK, stroke_width=0.75)
    lines.M(x, top).h(width).v(height).h(-width).Z()
    for row in range(1, rows):
        lines.M(x, top + row * cell).h(width)
    for column in range(1, columns):
        lines.M(x + column * cell, top).v(height)
    drawing.append(lines)


class _Panel(NamedTuple):
    name: str
    field: str
    log: bool
    limits: tuple[float, float]
    ticks: dict[float, str]
    labels: dict[str, tuple[float, float, str, str]]  # series -> x, y, and how the text is aligned


_MARKS = {"linewidth": 2, "markersize": 5, "markeredgewidth": 0, "markevery": 2}
_LOOKS = {
    "unscaled": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2)), **_MARKS},
    "scaled": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid", **_MARKS},
}
_PANELS = (
    _Panel(
        name="std",
        field="logit_std",
        log=True,
        limits=(0.6, 40),
        ticks={1: "1", 2: "2", 4: "4", 8: "8", 16: "16", 32: "32"},
        labels={"unscaled": (90, 16, "right", "center"), "scaled": (1024, 1.3, "right", "bottom")},
    ),
    _Panel(
        name="entropy",
        field="entropy",
        log=False,
        limits=(0, 5.2),
        ticks={0: "0", 1: "1", 2: "2", 3: "3", 4: "4"},
        labels={
            "unscaled": (20, 1.6, "left", "center"),
            "scaled": (1024, 3.4, "right", "top"),
            "max": (1024, 4.3, "right", "bottom"),
        },
    ),
    _Panel(
        name="gradient",
        field="gradient_median",
        log=True,
        limits=(1e-4, 1),
        ticks={1e-4: "10⁻⁴", 1e-3: "10⁻³", 1e-2: "10⁻²", 1e-1: "10⁻¹", 1: "1"},
        labels={
            "unscaled": (200, 0.004, "right", "center"),
            "scaled": (1024, 0.26, "right", "bottom"),
        },
    ),
)


def sqrt_d(language: str) -> str:
    """Chart the logits, the entropy and the gradient against d, with and without the scale."""
    text = texts(__file__, "sqrt-d", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 454)
        for index, panel in enumerate(_PANELS):
            top = 26 + 150 * index
            figure.text(0, 1 - (top - 20) / 454, text[panel.name], weight="bold", va="top")
            _plot(chart.panel(figure, 34, top, 288, 98), panel, text)
        figure.text(322 / 340, 4 / 454, text["x"], ha="right", va="baseline")
        desc = text["desc"].format(**numbers())
        return chart.finish(figure, f"{KEY}-sqrt-d", text["title"], desc)


def _plot(axes: Axes, panel: _Panel, text: dict[str, str]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(2**-0.3, SIZES[-1])
    chart.set_ticks(axes, "x", {d: str(d) for d in SIZES[::2]})
    axes.set_yscale("log" if panel.log else "linear")
    axes.set_ylim(panel.limits)
    chart.set_ticks(axes, "y", panel.ticks)
    if "max" in panel.labels:
        level = math.log(KEYS)
        dots = {"color": chart.INK, "linestyle": (0, (1, 2)), "linewidth": 1.5}
        axes.plot(axes.get_xlim(), [level, level], **dots, gid=f"part:{panel.name}-max")
    for series, look in _LOOKS.items():
        measured = measure_scale(scaled=series == "scaled")
        axes.plot(
            [measurement.head_dim for measurement in measured],
            [getattr(measurement, panel.field) for measurement in measured],
            **look,
            gid=f"part:{panel.name}-{series}",
        )
    for series, (x, y, across, up) in panel.labels.items():
        axes.text(x, y, text[series], ha=across, va=up, gid=f"part:{panel.name}-{series}-label")


_RUNS = {
    # series -> what was measured, its look, and where its label stands
    "unscaled-512": (
        {"d": 512, "scaled": False, "rate": 1.0},
        _LOOKS["unscaled"] | {"markevery": 10},
        (60, 9.3, "right"),
    ),
    "unscaled-8": (
        {"d": 8, "scaled": False, "rate": 1.0},
        {"color": chart.INK, "linewidth": 1.5, "linestyle": (0, (1, 1))},
        (60, 1.0, "right"),
    ),
    "scaled-512": (
        {"d": 512, "scaled": True, "rate": 1.0},
        _LOOKS["scaled"] | {"markevery": 10},
        (60, -0.9, "right"),
    ),
}


def learning(language: str) -> str:
    """Chart the loss of the page's small task against the step, for three settings."""
    text = texts(__file__, "learning", language)
    measured = load(__file__)["learning"]
    guess = math.log(8)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 226)
        axes = chart.panel(figure, 30, 26, 362, 158)
        axes.set_xlim(0, 60)
        axes.set_ylim(-1.5, 10)
        chart.set_ticks(axes, "x", {step: str(step) for step in range(0, 61, 20)})
        chart.set_ticks(axes, "y", {loss: str(loss) for loss in range(0, 11, 2)})
        figure.text(0, 1 - 4 / 226, text["y"], weight="bold", va="top")
        figure.text(392 / 400, 4 / 226, text["x"], ha="right", va="baseline")
        dots = {"color": chart.INK, "linestyle": (0, (1, 3)), "linewidth": 1.5}
        axes.plot([0, 60], [guess, guess], **dots, gid="part:guess")
        axes.text(60, guess + 0.2, text["guess"], ha="right", va="bottom", gid="part:guess-label")
        ends = {}
        for series, (setting, look, (x, y, across)) in _RUNS.items():
            losses = [measured("loss", step=step, **setting) for step in range(61)]
            axes.plot(range(61), losses, **look, gid=f"part:{series}")
            axes.text(x, y, text[series], ha=across, va="center", gid=f"part:{series}-label")
            ends[series.replace("-", "_")] = f"{losses[0]:.1f}", f"{losses[-1]:.1f}"
        said = {
            f"{k}_{w}": v
            for k, pair in ends.items()
            for w, v in zip(("first", "last"), pair, strict=True)
        }
        desc = text["desc"].format(**said, guess=f"{guess:.1f}")
        return chart.finish(figure, f"{KEY}-learning", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "block-diagram": block_diagram,
    "learning": learning,
    "sqrt-d": sqrt_d,
}
