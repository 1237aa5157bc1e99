"""Figures of the chapter on where attention comes from."""

import functools
import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from torch import Tensor

from attn_docs import scaled_dot_product_attention
from docs._kit import chart
from docs._kit.draw import ACCENT_2, INK, box, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .recall import ATTENDING, KINDS, SIZES
from .recall import LENGTHS as LENGTHS_RECALL

KEY = "foundations-origin"
WORDS = 4
SIZE = 32
LENGTHS = (1, 2, 4, 8, 16, 32, 64)

Node = tuple[str, int]


def edges(layer: str, n: int = WORDS) -> list[tuple[Node, Node]]:
    """Return which number waits for which: words are x, a layer's outputs h."""
    if layer == "self-attention":
        return [(("x", j), ("h", i)) for i in range(n) for j in range(n)]
    into = [(("x", i), ("h", i)) for i in range(n)]
    return into + [(("h", i), ("h", i + 1)) for i in range(n - 1)]


def dependencies(language: str) -> str:
    """Draw which output waits for which word or output, in an RNN and in self-attention."""
    text = texts(__file__, "dependencies", language)
    drawing = canvas(340, 372)
    for layer, top in (("recurrent", 0), ("self-attention", 198)):
        group = drawsvg.Group(data_layer=layer)
        write(group, text[layer].format(steps=WORDS), 170, top + 8, font_weight="bold")
        path = _path(layer)
        for start, end in sorted(edges(layer), key=lambda edge: edge in path):
            _edge(group, start, end, top, lit=(start, end) in path)
        for i in range(WORDS):
            x = _x(i)
            step = i + 1 if layer == "recurrent" else 1
            write(group, text["step"].format(step=step), x, top + 34, 12)
            box(group, x - 20, top + 46, 40, 28, lit=False)
            name = "h" if layer == "recurrent" else "o"  # a state, or an output without a state
            write(group, f"{name}{_subscript(i)}", x, top + 60)
            box(group, x - 20, top + 142, 40, 28, fill="none", stroke=INK)
            write(group, f"x{_subscript(i)}", x, top + 156)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-dependencies", text["title"], text["desc"])


def _path(layer: str) -> list[tuple[Node, Node]]:
    """Return the way from the first word to the last output."""
    if layer == "self-attention":
        return [(("x", 0), ("h", WORDS - 1))]
    along = [(("h", i), ("h", i + 1)) for i in range(WORDS - 1)]
    return [(("x", 0), ("h", 0)), *along]


def _edge(group: drawsvg.Group, start: Node, end: Node, top: float, *, lit: bool) -> None:
    """Draw an arrow from box to box, which may slant."""
    (kind, i), (_, j) = start, end
    if kind == "h":
        x0, y0, x1, y1 = _x(i) + 21, top + 60.0, _x(j) - 21, top + 60.0
    else:
        x0, y0, x1, y1 = _x(i), top + 142.0, _x(j) + 5 * (i - j), top + 75.0
    length = math.hypot(x1 - x0, y1 - y0)
    along = ((x1 - x0) / length, (y1 - y0) / length)
    base = (x1 - 7 * along[0], y1 - 7 * along[1])
    colour = ACCENT_2 if lit else INK
    look = {"stroke": colour, "stroke_width": 2.5 if lit else 1, "fill": "none"}
    if not lit:
        look["stroke_opacity"] = 0.6
    name = {"data_from": f"{kind}{i}", "data_to": f"h{j}", "data_lit": str(lit).lower()}
    group.append(drawsvg.Line(x0, y0, *base, **look, **name))
    across = (-4 * along[1], 4 * along[0])
    tip = drawsvg.Lines(
        *(x1, y1),
        *(base[0] + across[0], base[1] + across[1]),
        *(base[0] - across[0], base[1] - across[1]),
        close=True,
        fill=colour,
    )
    group.append(tip)


def _x(i: int) -> float:
    return 44 + 84 * i


def _subscript(i: int) -> str:
    return "₁₂₃₄₅₆₇₈₉"[i]


def _gradient(output: Callable[[Tensor], Tensor], n: int, seed: int) -> float:
    """Return how long the gradient of an output's sum at the first word is, for a median text."""
    torch.manual_seed(seed)
    words = torch.randn(64, n, SIZE, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(output(words).sum(), words)
    return gradient[:, 0].norm(dim=-1).median().item()


@functools.cache
def measure_gradients(series: str, *, seed: int = 0) -> tuple[float, ...]:
    """Measure, at each length, the gradient of an output at the first of n random words.

    `gru` is the last state of a GRU as PyTorch starts it. `asking` is attention with twice the
    first word as its query, `indifferent` attention with a query of zeros.
    """
    torch.manual_seed(seed)
    gru = torch.nn.GRU(SIZE, SIZE, batch_first=True, dtype=torch.float64)
    factor = 2.0 if series == "asking" else 0.0

    def output(words: Tensor) -> Tensor:
        if series == "gru":
            return gru(words)[0][:, -1]
        query = factor * words[:, :1].detach()
        return scaled_dot_product_attention(query, words, words)

    return tuple(_gradient(output, n, seed + 1) for n in LENGTHS)


_LOOKS = {
    "gru": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (4, 2))},
    "asking": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid"},
    "indifferent": {"color": chart.INK, "marker": "^", "linestyle": (0, (1, 2))},
}


def gradient_against_length(language: str) -> str:
    """Chart the gradient at the first word against the length."""
    text = texts(__file__, "gradient-against-length", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 266)
        axes = chart.panel(figure, 44, 26, 214, 200)
        figure.text(0, 1 - 6 / 266, text["y"], weight="bold", va="top")
        figure.text(151 / 400, 8 / 266, text["x"], ha="center", va="baseline")
        axes.set_xscale("log", base=2)
        axes.set_xlim(2**-0.15, 2**6.15)
        chart.set_ticks(axes, "x", {n: str(n) for n in LENGTHS})
        axes.set_yscale("log")
        axes.set_ylim(1e-15, 3e3)
        chart.set_ticks(axes, "y", {10.0**-p: f"10{_superscript(-p)}" for p in (0, 3, 6, 9, 12)})
        for series, look in _LOOKS.items():
            values = measure_gradients(series)
            marks = {"linewidth": 2, "markersize": 5, "markeredgewidth": 0}
            axes.plot(LENGTHS, values, **look, **marks, gid=f"part:{series}")
            place = {"ha": "left", "va": "center", "gid": f"part:{series}-label"}
            axes.text(2**6.4, values[-1], text[series], **place)
        desc = text["desc"].format(**numbers())
        return chart.finish(figure, f"{KEY}-gradient-against-length", text["title"], desc)


def _superscript(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _say(value: float) -> str:
    """Return a number with two digits, small ones as a power of ten."""
    if value >= 0.01:
        return f"{value:.2g}"
    digits, _, power = f"{value:.0e}".partition("e")
    return f"{digits} × 10{_superscript(int(power))}"


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    gradients = {
        f"{series}_{n}": _say(value)
        for series in _LOOKS
        for n, value in zip(LENGTHS, measure_gradients(series), strict=True)
    }
    return gradients | recall_numbers()


@functools.cache
def accuracies(*, attends: bool, words: int) -> dict[int, tuple[float, float, float]]:
    """Return the mean accuracy, the lowest and the highest of the seeds, by size of the state."""
    measured = load(__file__)["recall"]
    sizes = ATTENDING if attends else SIZES
    return {
        size: tuple(
            measured(quantity, size=size, asked="any", attends=attends, words=words)
            for quantity in ("accuracy", "lowest", "highest")
        )
        for size in sizes
    }


_NETWORKS = {
    "attention": (True, LENGTHS_RECALL[-1]),
    "some": (False, LENGTHS_RECALL[1]),
    "many": (False, LENGTHS_RECALL[-1]),
}
_LINES = {
    "attention": _LOOKS["asking"],
    "some": {"color": chart.ACCENT_2, "marker": "^", "linestyle": "solid"},
    "many": _LOOKS["gru"],
}


def bottleneck(language: str) -> str:
    """Chart how often each network remembers the word asked for, against the size of its state."""
    text = texts(__file__, "bottleneck", language)
    said = {"some": LENGTHS_RECALL[1], "many": LENGTHS_RECALL[-1]}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 266)
        axes = chart.panel(figure, 34, 26, 224, 200)
        figure.text(0, 1 - 6 / 266, text["y"], weight="bold", va="top")
        figure.text(146 / 400, 8 / 266, text["x"], ha="center", va="baseline")
        axes.set_xscale("log", base=2)
        axes.set_xlim(2**2.8, 2**7.15)
        chart.set_ticks(axes, "x", {size: str(size) for size in SIZES})
        axes.set_ylim(0, 1.06)
        chart.set_ticks(axes, "y", {share / 4: f"{share / 4:g}" for share in range(5)})
        axes.axhline(1 / KINDS, color=chart.INK, linewidth=1, linestyle=(0, (1, 2)))
        label = {"ha": "left", "va": "center"}
        axes.text(2**7.3, 1 / KINDS, text["chance"], **label)
        for name, (attends, words) in _NETWORKS.items():
            found = accuracies(attends=attends, words=words)
            means, lowest, highest = zip(*found.values(), strict=True)
            look = _LINES[name] | {"linewidth": 2, "markersize": 5, "markeredgewidth": 0}
            axes.plot(list(found), means, **look, gid=f"part:{name}")
            axes.vlines(list(found), lowest, highest, color=look["color"], gid=f"part:{name}-range")
            up = {"attention": 0.03, "some": -0.08}.get(name, 0)  # both end near one
            axes.text(2**7.3, means[-1] + up, text[name].format(**said), **label)
        desc = text["desc"].format(**said, **recall_numbers())
        return chart.finish(figure, f"{KEY}-bottleneck", text["title"], desc)


def recall_numbers() -> dict[str, str]:
    """Return the accuracies that the chapter's sentences use, two digits each."""
    found = {
        f"recall_{name}_{size}": f"{mean:.2f}"
        for name, (attends, words) in _NETWORKS.items()
        for size, (mean, _, _) in accuracies(attends=attends, words=words).items()
    }
    return found | {"chance": f"{1 / KINDS:.3f}"}


FIGURES: dict[str, Callable[[str], str]] = {
    "dependencies": dependencies,
    "gradient-against-length": gradient_against_length,
    "bottleneck": bottleneck,
}
