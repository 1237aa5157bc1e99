"""Figures of the chapter on biases by distance: two heads' biases, slopes, buckets."""

from collections.abc import Callable
from fractions import Fraction

import drawsvg
import matplotlib.style
import torch

from attn_docs import alibi_bias, alibi_slopes, t5_bucket
from attn_docs.sentence import WORDS
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, canvas, finish, write
from docs._kit.text import texts

KEY = "position-relative"
HEADS = {0: "1/2", 2: "1/8", 7: "1/256"}  # of eight
_CELL, _HIGH = 58, 21
FAR = 32  # how far the curves go
_LABELS = {0: (2.2, 0.52), 2: (7.2, 0.52), 7: (15, 0.83)}  # beside the curves
MANY = 12  # heads that are not a power of two
BACK = 200  # how far the chart of buckets goes


def shade(bias: float) -> float:
    """Return how dark a cell is: what is left of a weight when the bias is added to its score."""
    return round(2.718281828459045**bias, 4)


def short(bias: float) -> str:
    """Return a number of a cell, which is a fraction as the slope is."""
    return str(Fraction(bias)).replace("-", "−")


def idea(language: str) -> str:
    """Draw what one head adds to the scores, and what some heads leave of a weight."""
    text, n = texts(__file__, "idea", language), len(WORDS)
    drawing, left, top = canvas(370, 354), 62, 50
    write(drawing, text["slope"].format(slope=HEADS[0]), left + n * _CELL / 2, top - 38, 13)
    for j, word in enumerate(WORDS):
        write(drawing, word, left + (j + 0.5) * _CELL, top - 14, 12)
        write(drawing, word, left - 8, top + (j + 0.5) * _HIGH, 12, text_anchor="end")
    for i, j in torch.ones(n, n).tril().nonzero().tolist():
        bias = alibi_bias(8, n)[0, 0, i, j].item()
        x, y = left + j * _CELL, top + i * _HIGH
        look = {"fill": ACCENT, "fill_opacity": 0.45 * shade(bias), "stroke": INK}
        place = {"data_row": i, "data_column": j, "data_bias": round(bias, 4)}
        drawing.append(drawsvg.Rectangle(x, y, _CELL, _HIGH, stroke_opacity=0.35, **look, **place))
        write(drawing, short(bias), x + _CELL / 2, y + _HIGH / 2, 12)
    write(drawing, text["axes"], 185, 172, 12)
    _reach(drawing, text)
    desc = text["desc"].format(slopes=text["comma"].join(HEADS.values()))
    return finish(drawing.as_svg(header=""), f"{KEY}-idea", text["title"], desc, zoom=1.3)


def _reach(drawing: drawsvg.Drawing, text: dict[str, str]) -> None:
    """Draw what a head leaves of a weight, by distance, for three slopes."""
    left, low, wide, high = 62, 308, 290, 84
    write(drawing, text["left"], left, low - high - 14, 12, text_anchor="start")
    write(drawing, text["distance"], left + wide, low + 32, 12, text_anchor="end")
    axes = drawsvg.Path(fill="none", stroke=INK, stroke_opacity=0.5)
    drawing.append(axes.M(left, low - high).V(low).H(left + wide))
    for share in (0, 1):
        write(drawing, str(share), left - 8, low - share * high, 12, text_anchor="end")
    for distance in range(0, FAR + 1, 8):
        write(drawing, str(distance), left + wide * distance / FAR, low + 14, 12)
    for head, slope in HEADS.items():
        bias = alibi_bias(8, 1, offset=FAR)[0, head, 0].flip(0).tolist()  # by distance
        place = {"data_head": head, "data_far": round(shade(bias[-1]), 4)}
        line = drawsvg.Path(fill="none", stroke=ACCENT, stroke_width=2, **place)
        for distance, each in enumerate(bias):
            move = line.L if distance else line.M
            move(round(left + wide * distance / FAR, 1), round(low - high * shade(each), 1))
        drawing.append(line)
        x, y = _LABELS[head]
        write(drawing, slope, left + wide * x / FAR, low - high * y, 12, text_anchor="start")


def one_series(num_heads: int) -> list[float]:
    """Return the slopes by the paper's text, one geometric series for any number of heads."""
    return [2 ** (-8 * i / num_heads) for i in range(1, num_heads + 1)]


def slopes(language: str) -> str:
    """Draw the slopes of twelve heads, as the authors' code has them and as the text says."""
    text, heads = texts(__file__, "slopes", language), range(1, MANY + 1)
    found = {"code": alibi_slopes(MANY).tolist(), "paper": one_series(MANY)}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(390, 200)
        axes = chart.panel(figure, 52, 28, 325, 122)
        axes.set(yscale="log", xlim=(0.5, MANY + 0.5), ylim=(2**-8.6, 1.3))
        looks = {"code": (chart.ACCENT, "o"), "paper": (chart.INK, "x")}
        for name, (colour, mark) in looks.items():
            (line,) = axes.plot(heads, found[name], color=colour, marker=mark, linestyle="none")
            line.set_gid(f"part:{name}")
        axes.text(8.7, found["code"][8], text["code"], ha="right", va="center")
        axes.text(3.6, found["paper"][3] * 2.2, text["paper"], ha="left", va="center")
        chart.set_ticks(axes, "x", {head: str(head) for head in heads})
        chart.set_ticks(axes, "y", {1 / d: f"1/{d}" for d in (2, 8, 32, 128)})
        axes.text(0, 1.12, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.27, text["right"], transform=axes.transAxes, ha="right", va="center")
        told = {name: ", ".join(f"{x:.4f}" for x in values) for name, values in found.items()}
        return chart.finish(figure, f"{KEY}-slopes", text["title"], text["desc"].format(**told))


def edges(*, bidirectional: bool) -> list[int]:
    """Return the distance back at which each bucket begins."""
    buckets = t5_bucket(-torch.arange(BACK), bidirectional=bidirectional).tolist()
    return [buckets.index(bucket) for bucket in sorted(set(buckets))]


def buckets(language: str) -> str:
    """Draw which bucket a distance back falls into, in a decoder and in an encoder."""
    text = texts(__file__, "buckets", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(390, 200)
        axes = chart.panel(figure, 36, 28, 340, 122)
        axes.set(xlim=(-BACK, BACK), ylim=(0, 34))
        axes.set_xscale("symlog", linthresh=16, linscale=0.9)
        looks = {"decoder": (False, chart.ACCENT), "encoder": (True, chart.ACCENT_2)}
        for name, (both, colour) in looks.items():
            distance = torch.arange(-BACK, BACK if both else 1)
            values = t5_bucket(distance, bidirectional=both).tolist()
            (line,) = axes.step(distance.tolist(), values, color=colour, linewidth=2)
            line.set_gid(f"part:{name}")
        for name, at, high in (("decoder", -60, 30), ("encoder", -150, 4), ("ahead", 150, 19)):
            right = "right" if at > 0 else "left"
            axes.text(at, high, text[name], ha=right, va="center")
        chart.set_ticks(
            axes, "x", {x: str(x).replace("-", "−") for x in (-128, -32, -8, 0, 8, 32, 128)}
        )
        chart.set_ticks(axes, "y", {y: str(y) for y in (0, 8, 15, 24, 31)})
        axes.text(0, 1.12, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.27, text["right"], transform=axes.transAxes, ha="right", va="center")
        sides = {"decoder": edges(bidirectional=False), "encoder": edges(bidirectional=True)}
        told = {name: ", ".join(map(str, values)) for name, values in sides.items()}
        return chart.finish(figure, f"{KEY}-buckets", text["title"], text["desc"].format(**told))


FIGURES: dict[str, Callable[[str], str]] = {"idea": idea, "slopes": slopes, "buckets": buckets}
