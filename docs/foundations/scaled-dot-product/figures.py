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
from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    INK,
    SHADE,
    arrow,
    box,
    canvas,
    finish,
    stage_line,
    write,
)

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


_BLOCKS = {
    "en": {
        "title": "Scaled dot-product attention, with shapes",
        "desc": (
            "Queries Q, n rows of d numbers, and keys K, m rows of d numbers, are multiplied into "
            "n × m scores QKᵀ. The scores are divided by √d; a mask M, which is optional, adds −∞ "
            "where a query may not attend; softmax over the keys turns each row into weights that "
            "sum to 1. The n × m weights times the values V, m rows of e numbers, give the "
            "output, n rows of e numbers. The small grids show each shape for n = {n}, m = {m}, "
            "d = {d} and e = {e}."
        ),
        "score": "score",
        "mask": "mask (optional)",
        "normalise": "normalise",
        "mix": "mix",
        "softmax": "softmax over keys",
        "×V": "weights × V",
        "scores": "scores, ",
        "weights": "weights, ",
        "output": "output",
    },
    "zh": {
        "title": "缩放点积注意力及各处的形状",
        "desc": (
            "查询 Q（n 行，每行 d 个数）与键 K（m 行，每行 d 个数）相乘，得到 n × m 的分数 QKᵀ。"
            "分数除以 √d；可选的掩码 M 在不允许关注的位置加上 −∞；"
            "沿着键做 softmax，使每一行成为和为 1 的权重。"
            "n × m 的权重乘以值 V（m 行，每行 e 个数），得到输出（n 行，每行 e 个数）。"
            "小方格按 n = {n}、m = {m}、d = {d}、e = {e} 画出各处的形状。"
        ),
        "score": "打分",
        "mask": "掩码（可选）",
        "normalise": "归一化",
        "mix": "加权求和",
        "softmax": "沿键做 softmax",
        "×V": "权重 × V",
        "scores": "分数，",
        "weights": "权重，",
        "output": "输出",
    },
}
_EXAMPLE = {"n": 3, "m": 5, "d": 4, "e": 2}


def block_diagram(language: str) -> str:
    """Draw what becomes of queries, keys and values, with the shape on every arrow."""
    text = _BLOCKS[language]
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
        ("mix", text["×V"], ""),
    )
    for index, (stage, operation, result) in enumerate(rows):
        y = 73 + pitch * index
        dashes = {"stroke": INK, "stroke_dasharray": "4 3"} if stage == "mask" else {}
        box(drawing, 1, y, width - 2, height, **dashes)
        write(drawing, text[stage], 12, y + height / 2, 12, text_anchor="start")
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


_SQRT_D = {
    "en": {
        "title": "What dividing by √d keeps steady",
        "desc": (
            "Three charts against the head size d, from 1 to 1024, with and without the scale "
            "1/√d, for unit-normal queries and 64 unit-normal keys. First: the standard deviation "
            "of the logits, which go into the softmax, grows as √d without the scale, from "
            "{logit_std_unscaled_1} to {logit_std_unscaled_1024}, and stays near "
            "{logit_std_scaled_1024} with it. Second: the mean entropy of a query's weights falls "
            "from {entropy_unscaled_1} to {entropy_unscaled_1024} nats without the scale and "
            "stays near {entropy_scaled_1024} with it; equal weights would have "
            "ln 64 = {entropy_max}. Third: the length of the gradient of the output with respect "
            "to a query's 64 logits, each value being one unit-normal number. Its median over "
            "4096 queries falls from {gradient_median_unscaled_1} to "
            "{gradient_median_unscaled_1024} without the scale and stays near "
            "{gradient_median_scaled_1024} with it."
        ),
        "std": "Standard deviation of the logits",
        "entropy": "Entropy of the weights, in nats",
        "gradient": "Median gradient at the logits",
        "unscaled": "without 1/√d",
        "scaled": "with 1/√d",
        "max": "all weights equal: ln 64",
        "x": "head size d",
    },
    "zh": {
        "title": "除以 √d 使什么保持稳定",
        "desc": (
            "三幅图，横轴都是头维度 d，从 1 到 1024，各画出乘与不乘 1/√d 两条曲线；"
            "查询和 64 个键都服从标准正态分布。第一幅：送入 softmax 的分数（logits）的标准差，"
            "不缩放时按 √d 增长，从 {logit_std_unscaled_1} 升到 {logit_std_unscaled_1024}，"
            "缩放后保持在 {logit_std_scaled_1024} 附近。第二幅：每个查询的权重的平均熵，"
            "不缩放时从 {entropy_unscaled_1} 降到 {entropy_unscaled_1024} 奈特，"
            "缩放后保持在 {entropy_scaled_1024} 附近；所有权重相等时为 ln 64 = {entropy_max}。"
            "第三幅：输出对一个查询的 64 个分数的梯度的长度，其中每个值是一个标准正态的数。"
            "它在 4096 个查询上的中位数，不缩放时从 {gradient_median_unscaled_1} 降到 "
            "{gradient_median_unscaled_1024}，缩放后保持在 {gradient_median_scaled_1024} 附近。"
        ),
        "std": "分数（logits）的标准差",
        "entropy": "权重的熵（奈特）",
        "gradient": "分数处的梯度（中位数）",
        "unscaled": "不乘 1/√d",
        "scaled": "乘以 1/√d",
        "max": "所有权重相等：ln 64",
        "x": "头维度 d",
    },
}


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
    text = _SQRT_D[language]
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


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("score", "mask", "normalise", "mix")),
    "block-diagram": block_diagram,
    "sqrt-d": sqrt_d,
}
