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

from .benchmark import LARGEST, RATES, STEPS

KEY = "foundations-scaled-dot-product"
SIZES = tuple(2**power for power in range(11))
KEYS = 64


class ScaleMeasurement(NamedTuple):
    """What one head size does to the softmax."""

    head_dim: int
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
    """Measure weights and gradients for several head sizes, with or without 1/√d.

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
        setting = "scaled" if scaled else "unscaled"
        for measurement in measure_scale(scaled=scaled):
            for name in measurement._fields[1:]:
                value = getattr(measurement, name)
                result[f"{name}_{setting}_{measurement.head_dim}"] = f"{value:.2g}"
    result["sure"] = f"{_SURE}"
    result["sure_512"] = f"{share_of_sure_queries():.0%}"
    return result


_SURE = 0.99  # a key with a larger weight has nearly everything


def share_of_sure_queries(draws: int = 5000) -> float:
    """Return how often one of six random keys of 512 components gets nearly everything."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(draws, 1, 512, generator=generator)
    key = torch.randn(draws, _KEYS, 512, generator=generator)
    largest = attention_weights(query, key, scale=1.0).amax(-1)
    return (largest > _SURE).float().mean().item()


_EXAMPLE = {"n": 3, "m": 5, "d": 4, "e": 2}


def block_diagram(language: str) -> str:
    """Draw what becomes of queries, keys and values, with the shape on every arrow."""
    text = texts(__file__, "block-diagram", language)
    stages = texts(draw.__file__, "stages", language) | {
        "mask": text["mask"],
        "scale": text["scale"],
    }
    drawing = canvas(340, 383)
    middle, width, height, pitch = 112, 224, 30, 53
    for name, shape, x in (("Q", "nd", 1), ("K", "md", 123), ("V", "me", 239)):
        _tensor(drawing, name, shape, x, 1)
    arrow(drawing, (51, 47), (51, 71))
    arrow(drawing, (173, 47), (173, 71))
    rows = (
        ("score", "QKᵀ", "scores"),
        ("scale", "÷ √d", "scores"),
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
            _shape(drawing, "nm", middle + 14, below + (pitch - height) / 2, text[result])
    y = 73 + 4 * pitch
    arrow(drawing, (289, 47), (289, y + height / 2), (width + 2, y + height / 2))
    arrow(drawing, (middle, y + height + 2), (middle, y + height + 20))
    _tensor(drawing, text["output"], "ne", middle - 62, y + height + 22, 124)
    sizes = {"desc": text["desc"].format(**_EXAMPLE), "title": text["title"]}
    return finish(drawing.as_svg(header=""), f"{KEY}-block-diagram", **sizes, zoom=1.0)


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


_KEYS, _BAR, _TALL = 6, 27, 74  # six keys, how far apart their bars stand, the height of 1


@functools.cache
def six_keys() -> dict[tuple[int, bool], tuple[float, ...]]:
    """Return the weights of six random keys, for two head sizes, without and with the division."""
    generator, found = torch.Generator().manual_seed(0), {}
    for size in (8, 512):
        query = torch.randn(1, size, generator=generator)
        keys = torch.randn(_KEYS, size, generator=generator)
        for scaled in (False, True):
            weights = attention_weights(query, keys, scale=None if scaled else 1.0)
            found[size, scaled] = tuple(weights[0].tolist())
    return found


def keys(language: str) -> str:
    """Draw the weights of six random keys: two head sizes, without and with the division."""
    text = texts(__file__, "keys", language)
    drawing = canvas(400, 208)
    for (size, scaled), weights in six_keys().items():
        left, floor = (66 if size == 8 else 236), (182 if scaled else 106)
        if not scaled:
            write(drawing, f"d = {size}", left + 3 * _BAR, 10, font_weight="bold")
        for index, weight in enumerate(weights):
            x, height = left + _BAR * index, _TALL * weight
            look = {"fill": ACCENT, "data_setting": f"{size} {scaled}", "data_weight": weight}
            drawing.append(drawsvg.Rectangle(x + 3, floor - height, _BAR - 6, height, **look))
            write(drawing, f"{weight:.2f}", x + _BAR / 2, floor - height - 8, 11)
        end = left + _KEYS * _BAR
        drawing.append(drawsvg.Line(left, floor, end, floor, stroke=INK))
    for floor, lines in ((106, text["unscaled"]), (182, text["scaled"])):
        for index, line in enumerate(lines):
            y = floor - 36 + 16 * index
            write(drawing, line, 0, y, 12, text_anchor="start", font_weight="bold")
    for left in (66, 236):
        write(drawing, text["keys"], left + 3 * _BAR, 196, 12)
    found = {f"{name}_{d}": max(six_keys()[d, s]) for d in (8, 512) for name, s in _SETTINGS}
    desc = text["desc"].format(**{name: f"{weight:.2f}" for name, weight in found.items()})
    return finish(drawing.as_svg(header=""), f"{KEY}-keys", text["title"], desc, zoom=1.5)


_SETTINGS = (("unscaled", False), ("scaled", True))


class _Panel(NamedTuple):
    name: str
    field: str
    log: bool
    limits: tuple[float, float]
    ticks: dict[float, str]
    labels: dict[str, tuple[float, float, str, str]]  # series -> x, y, and how the text is aligned
    mean: str | None = None  # the field of a thin line beside the marked one


_MARKS = {"linewidth": 2, "markersize": 5, "markeredgewidth": 0, "markevery": 2}
_LOOKS = {
    "unscaled": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2)), **_MARKS},
    "scaled": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid", **_MARKS},
}
_PANELS = (
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
            "mean": (1024, 0.035, "right", "top"),
        },
        mean="gradient_mean",
    ),
)


def sqrt_d(language: str) -> str:
    """Chart the entropy and the gradient against d, with and without the scale."""
    text = texts(__file__, "sqrt-d", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 268)
        for index, panel in enumerate(_PANELS):
            top = 26 + 128 * index
            figure.text(0, 1 - (top - 20) / 268, text[panel.name], weight="bold", va="top")
            _plot(chart.panel(figure, 34, top, 288, 78), panel, text)
        figure.text(322 / 340, 4 / 268, text["x"], ha="right", va="baseline")
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
        if panel.mean is not None:
            axes.plot(
                [measurement.head_dim for measurement in measured],
                [getattr(measurement, panel.mean) for measurement in measured],
                color=look["color"],
                linewidth=1.25,
                gid=f"part:{panel.name}-{series}-mean",
            )
    for series, (x, y, across, up) in panel.labels.items():
        axes.text(x, y, text[series], ha=across, va=up, gid=f"part:{panel.name}-{series}-label")


_SIZES = {
    # head size -> the look of its line
    8: {"color": chart.INK, "marker": "o", "linestyle": (0, (1, 1))},
    64: {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2))},
    512: {"color": chart.ACCENT, "marker": "^", "linestyle": "solid"},
}
_NAMED = {  # with the division? -> head size -> where its name stands, left of its line, and it
    False: {8: (0.0009, 1.3, "d = 8"), 64: (0.0009, 3.2, "d = 64"), 512: (0.0009, 5.7, "d = 512")},
    True: {8: (5, 4.6, "d = 8"), 64: (16.5, 4.6, "64"), 512: (33, 1.0, "512")},
}
_AGAIN = {  # with the division? -> where lines leave or lie on each other, and their names
    False: {"one": (0.62, 4.6), "two": (10, 4.6)},
    True: {"three": (0.06, 0.9)},
}


def learning(language: str) -> str:
    """Chart the loss after training against the learning rate, without and with the division."""
    text = texts(__file__, "learning", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 296)
        for index, scaled in enumerate((False, True)):
            top = 26 + 136 * index
            name = "scaled" if scaled else "unscaled"
            figure.text(0, 1 - (top - 20) / 296, text[name], weight="bold", va="top")
            _plot_learning(chart.panel(figure, 20, top, 372, 90), text, scaled=scaled)
        figure.text(392 / 400, 4 / 296, text["x"], ha="right", va="baseline")
        desc = text["desc"].format(guess=f"{math.log(8):.1f}")
        return chart.finish(figure, f"{KEY}-learning", text["title"], desc)


def _plot_learning(axes: Axes, text: dict[str, str], *, scaled: bool) -> None:
    measured, name = load(__file__)["learning"], "scaled" if scaled else "unscaled"
    axes.set_xscale("log")
    axes.set_xlim(0.00014, 33)
    axes.set_ylim(0, 7)
    chart.set_ticks(axes, "x", {rate: f"{rate:g}" for rate in (0.001, 0.01, 0.1, 1.0, 10.0)})
    chart.set_ticks(axes, "y", {loss: str(loss) for loss in (0, 2, 4, 6)})
    guess = math.log(8)
    dots = {"color": chart.INK, "linestyle": (0, (1, 3)), "linewidth": 1.5}
    axes.plot([0.00014, 33], [guess, guess], **dots, gid=f"part:{name}-guess")
    at = {"ha": "left" if scaled else "right", "va": "bottom", "gid": f"part:{name}-guess-label"}
    axes.text(0.00016 if scaled else 32, guess + 0.5, text["guess"], **at)
    for size, look in _SIZES.items():
        losses = [measured("loss", step=STEPS, d=size, scaled=scaled, rate=r) for r in RATES]
        shown = [loss for loss in losses if loss < LARGEST]
        shown += [7.0] * (len(shown) < len(losses))  # a line that diverges leaves at the top
        rates = RATES[: len(shown)]
        axes.plot(rates, shown, **look, linewidth=2, markersize=5, gid=f"part:{name}-{size}")
        x, y, name_of_line = _NAMED[scaled][size]
        at = {"ha": "right", "va": "center", "gid": f"part:{name}-{size}-label"}
        axes.text(x, y, name_of_line, **at)
    for names, (x, y) in _AGAIN[scaled].items():
        at = {"ha": "right", "va": "center", "gid": f"part:{name}-{names}-label"}
        axes.text(x, y, text[names], **at)


FIGURES: dict[str, Callable[[str], str]] = {
    "block-diagram": block_diagram,
    "keys": keys,
    "learning": learning,
    "sqrt-d": sqrt_d,
}
