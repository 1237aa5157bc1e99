"""Figure of the chapter on loading checkpoints: where in a text a wrong detail shows."""

import itertools
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import matplotlib.lines
import matplotlib.style
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import Llama3Scaling, RotaryEmbedding
from docs._kit import chart
from docs._kit.text import texts

KEY = "checkpoints-from-hugging-face"
HEAD, HEADS, LENGTH, WINDOW, THETA = 128, 8, 4096, 512, 500_000.0
ROWS = 32  # positions that are looked at between one power of two and the next
_LEAST, _MOST = 1e-8, 3.0
LIMIT = 1e-5  # above it two layers compute different things


class Detail(NamedTuple):
    """What a layer does that no weight says."""

    rule: bool = True
    scale: float = 1.0
    window: int = LENGTH
    rounded: torch.dtype | None = None  # to which queries, keys, values and the output are


# a head of Llama 3.1, right and with one detail wrong
DETAILS = {
    "rule": (Detail(), Detail(rule=False)),
    "scale": (Detail(), Detail(scale=(144 / 128) ** 0.5)),
    "window": (Detail(window=WINDOW), Detail(window=WINDOW - 1)),
    "bfloat16": (Detail(), Detail(rounded=torch.bfloat16)),
    "float32": (Detail(), Detail(rounded=torch.float32)),
}
_LOOKS = {
    "rule": (chart.ACCENT, "-"),
    "scale": (chart.ACCENT, "--"),
    "window": (chart.ACCENT_2, "-"),
    "bfloat16": (chart.INK, "-"),
    "float32": (chart.INK, "-"),
}


def bins() -> list[Tensor]:
    """Return the positions that are looked at, from 0, between powers of two."""
    ends = [2**k for k in range(LENGTH.bit_length())]
    pairs = itertools.pairwise(ends)
    return [torch.linspace(a, b - 1, ROWS).long().unique() for a, b in pairs]


@cache
def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (3, 1, HEADS, LENGTH, HEAD)
    made = torch.randn(shape, generator=generator, dtype=torch.float64)
    return made[0], made[1], made[2]


def outputs(detail: Detail, rows: Tensor) -> Tensor:
    """Return what a layer gives at some positions: random queries, keys and values."""
    query, key, value = _inputs()
    rule = Llama3Scaling(8.0, 8192) if detail.rule else None
    rotary = RotaryEmbedding(HEAD, theta=THETA, scaling=rule)
    keys = torch.arange(LENGTH)
    query, key = rotary(query[:, :, rows], rows), rotary(key, keys)
    mask = (keys <= rows[:, None]) & (keys > rows[:, None] - detail.window)
    scale = detail.scale * HEAD**-0.5
    if detail.rounded is not None:
        query, key, value = (x.to(detail.rounded).double() for x in (query, key, value))
    output = F.scaled_dot_product_attention(query, key, value, mask, scale=scale)
    return output if detail.rounded is None else output.to(detail.rounded).double()


@cache
def curves() -> dict[str, list[tuple[int, float]]]:
    """Return how far off each wrong detail is: the last position of a bin, from 1, and the part."""
    groups, found = bins(), {}
    sizes = [len(group) for group in groups]
    for name, (right, wrong) in DETAILS.items():
        rows = torch.cat(groups)
        wanted = outputs(right, rows)
        pairs = zip(
            (outputs(wrong, rows) - wanted).split(sizes, dim=2),
            wanted.split(sizes, dim=2),
            strict=True,
        )
        off = [float(difference.norm() / part.norm()) for difference, part in pairs]
        found[name] = [(int(group[-1]) + 1, part) for group, part in zip(groups, off, strict=True)]
    return found


def spread(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Return where labels stand: near their lines' ends, in their order, apart by a gap."""
    placed: dict[str, float] = {}
    high = 2.0
    for name in sorted(heights, key=lambda each: heights[each], reverse=True):
        high = placed[name] = min(heights[name], high - gap)
    return placed


def said(name: str, part: float) -> str:
    """Return the end of a line in words: a percentage, or hundred-millionths."""
    if name == "float32":
        return f"{1e8 * part:.0f}·10⁻⁸"
    return f"{part:.1%}" if name == "bfloat16" else f"{part:.0%}"


def off(language: str) -> str:
    """Draw how far off a layer's output is at each position, for each wrong detail."""
    text, ends, height = texts(__file__, "off", language), {}, 250
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, height)
        axes = chart.panel(figure, 44, 30, 230, 176)
        axes.set(xscale="log", yscale="log", xlim=(1.9, LENGTH), ylim=(_LEAST, _MOST))
        for name, points in curves().items():
            seen = [(at, part) for at, part in points if part >= _LEAST]
            colour, dash = _LOOKS[name]
            axes.plot(
                *zip(*seen, strict=True),
                color=colour,
                linestyle=dash,
                linewidth=1 if name in ("bfloat16", "float32") else 2,
                gid=f"part:{name}",
            )
            ends[name] = seen[-1][1]
        axes.axhline(LIMIT, color=chart.INK, linestyle=":", linewidth=1, gid="part:limit")
        ends["limit"] = LIMIT
        whole = torch.tensor(_MOST / _LEAST).log()
        shares = {n: float(torch.tensor(v / _LEAST).log() / whole) for n, v in ends.items()}
        for name, share in spread(shares, 0.085).items():
            y, end = ((height - 206 + 176 * at) / height for at in (share, shares[name]))
            lead = matplotlib.lines.Line2D((275 / 400, 284 / 400), (end, y))
            lead.set(color=_LOOKS.get(name, (chart.INK,))[0], linewidth=0.7)
            figure.add_artist(lead)
            figure.text(287 / 400, y, text[name], va="center")
        chart.set_ticks(axes, "x", {n: f"{n:,}" for n in (4, 32, 512, 4096)})
        chart.set_ticks(axes, "y", {1e-8: "10⁻⁸", 1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 0.01: "10⁻²", 1: "1"})
        figure.text(274 / 400, 12 / height, text["right"], ha="right", va="baseline")
        figure.text(0, 1 - 10 / height, text["up"], va="center")
        told = {name: said(name, points[-1][1]) for name, points in curves().items()}
        return chart.finish(figure, f"{KEY}-off", text["title"], text["desc"].format(**told))


FIGURES: dict[str, Callable[[str], str]] = {"off": off}
