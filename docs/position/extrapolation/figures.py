"""Figures of the chapter on lengths beyond training: the tests, the curves, and a head's scores."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import drawsvg
import matplotlib.lines
import matplotlib.style
import torch
from matplotlib.axes import Axes

from attn_docs import LinearScaling, YaRNScaling, apply_rotary
from attn_docs.model.induction import load_model
from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.extrapolation import TRAINED
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SOFT, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import LENGTHS, LONGEST, PLACES, SEEDS
from .tables import mean

if TYPE_CHECKING:
    from attn_docs import MultiHeadAttention
    from attn_docs.model import Block

KEY = "position-extrapolation"
_LOOKS = {
    "none": (chart.INK, ":"),
    "learned": (chart.ACCENT_2, "--"),
    "sinusoidal": (chart.ACCENT, "--"),
    "rotary": (chart.ACCENT_2, "-"),
    "alibi": (chart.ACCENT, "-"),
    "t5": (chart.INK, "-"),
    "yarn": (chart.ACCENT_2, "-."),
}
_FLOORS = {"near": 0.0, "start": 0.4}  # of the axis: in start, no line falls below
SCALED: dict[str, RotaryScaling | None] = {
    "plain": None,
    "linear": LinearScaling(LONGEST / TRAINED),
    "yarn": YaRNScaling(LONGEST / TRAINED, TRAINED),
}


def tests(language: str) -> str:
    """Draw where the first copy stands in each of the three tests."""
    text = texts(__file__, "tests", language)
    drawing, left, width, copy = canvas(400, 122), 60, 330, 12
    firsts = {"near": width - 3 * copy, "half": (width - copy) / 2, "start": 0}
    line = left + width / 8
    for row, place in enumerate(PLACES):
        group, top = drawsvg.Group(data_place=place), 30 + 32 * row
        write(group, text[place], left - 10, top + 9, 13, text_anchor="end")
        frame = {"fill": SOFT, "stroke": INK, "stroke_opacity": 0.35}
        group.append(drawsvg.Rectangle(left, top, width, 18, **frame))
        for at, fill in ((firsts[place], ACCENT), (width - copy, ACCENT_2)):
            group.append(drawsvg.Rectangle(left + at, top, copy, 18, fill=fill))
        if place == "start":
            ends = (("first", line + 6, "start"), ("second", left + width - copy - 8, "end"))
            for word, at, anchor in ends:
                write(group, text[word], at, top + 10, 12, text_anchor=anchor)
        drawing.append(group)
    dashes = {"stroke": INK, "stroke_width": 1.2, "stroke_dasharray": "4 3"}
    drawing.append(drawsvg.Line(line, 18, line, 116, **dashes))
    write(drawing, text["trained"], left, 10, 12, text_anchor="start")
    write(drawing, text["unseen"], left + width, 10, 12, text_anchor="end")
    return finish(drawing.as_svg(header=""), f"{KEY}-tests", text["title"], text["desc"], zoom=1.7)


def spread(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Return where labels stand: near their lines' ends, in their order, apart by a gap."""
    order = sorted(heights, key=lambda name: heights[name])
    placed: dict[str, float] = {}
    low = -1.0
    for name in order:
        low = placed[name] = max(heights[name], low + gap)
    for name in reversed(order):
        placed[name] = min(placed[name], 1.0 - gap * (len(order) - 1 - order.index(name)))
    return placed


def reach(language: str) -> str:
    """Draw the accuracy of each kind over the test length: near, and from the very start."""
    text, ends = texts(__file__, "reach", language), {}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 370)
        for place, top in (("near", 34), ("start", 216)):
            axes, floor = chart.panel(figure, 34, top, 270, 122), _FLOORS[place]
            high = 1 + 0.03 * (1 - floor)
            axes.set(xscale="log", xlim=(31, 262), ylim=(floor, high))
            ends[place] = _lines(axes, place)
            shares = {kind: (v - floor) / (high - floor) for kind, v in ends[place].items()}
            for kind, share in spread(shares, 0.1).items():
                y, line_end = ((370 - top - 122 + 122 * at) / 370 for at in (share, shares[kind]))
                lead = matplotlib.lines.Line2D((303 / 400, 317 / 400), (line_end, y))
                lead.set(color=_LOOKS[kind][0], linewidth=0.7)
                figure.add_artist(lead)
                figure.text(320 / 400, y, text[kind], va="center")
            axes.axvline(TRAINED, color=chart.INK, linestyle="--", linewidth=1)
            chart.set_ticks(axes, "x", {n: str(n) for n in (32, 64, 128, 256)})
            ticks = {0: "0", 0.5: "0.5", 1: "1"} if floor == 0 else {0.4: "0.4", 0.7: "0.7", 1: "1"}
            chart.set_ticks(axes, "y", ticks)
            figure.text(34 / 400, (370 - top + 14) / 370, text[place], va="center")
        figure.text(314 / 400, 8 / 370, text["right"], ha="right", va="baseline")
        figure.text(36 / 400, 8 / 370, text["trained"], ha="left", va="baseline")
        figure.text(0, 1 - 8 / 370, text["up"], va="center")
        told = {place: _told(values, text) for place, values in ends.items()}
        return chart.finish(figure, f"{KEY}-reach", text["title"], text["desc"].format(**told))


def _lines(axes: Axes, place: str) -> dict[str, float]:
    """Draw each kind's mean and, thin, its seeds; return where the means end."""
    stored, ends = load(__file__), {}
    for kind, (colour, dash) in _LOOKS.items():
        look: dict[str, Any] = {"color": colour, "linestyle": dash}
        found = stored["rules" if kind == "yarn" else "kinds"]
        of = {"rule" if kind == "yarn" else "kind": kind, "place": place}
        for seed in SEEDS:
            values = [found("accuracy", length=n, seed=seed, **of) for n in LENGTHS]
            axes.plot(LENGTHS, values, linewidth=0.5, alpha=0.5, **look)
        means = [mean(found, length=n, **of) for n in LENGTHS]
        axes.plot(LENGTHS, means, linewidth=2, gid=f"part:{place}-{kind}", **look)
        ends[kind] = means[-1]
    return ends


def _told(values: dict[str, float], text: Words) -> str:
    pairs = (text["point"].format(kind=text[kind], value=v) for kind, v in values.items())
    told: str = text["join"].join(pairs)
    return told


@cache
@torch.no_grad()
def score_curves() -> dict[str, list[float]]:
    """Return the mean score of the shipped model's layer 1 at each distance, under each rule.

    The mean over all pairs of symbols, so what remains is the distance alone.
    """
    model = load_model()
    block = cast("Block", model.blocks[0])
    attention = cast("MultiHeadAttention", block.attention)
    x = block.attention_norm(model.token_embedding.weight)  # vocab embed_dim
    query, key = attention.q_proj(x).mean(0), attention.k_proj(x).mean(0)  # d, one head
    places = torch.arange(LONGEST)
    found = {}
    for name, rule in SCALED.items():
        keys = apply_rotary(key.expand(1, 1, LONGEST, -1), LONGEST - 1 - places, scaling=rule)
        last = apply_rotary(query.view(1, 1, 1, -1), places[-1:], scaling=rule)
        scores = (last @ keys.mT)[0, 0, 0] / len(key) ** 0.5  # by distance
        found[name] = scores.tolist()
    return found


def scores(language: str) -> str:
    """Draw the score of the shipped model's first head over the distance, under three rules."""
    text, curves = texts(__file__, "scores", language), score_curves()
    tops = {name: values.index(max(values)) for name, values in curves.items()}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 308)
        for number, (name, values) in enumerate(curves.items()):
            top = 44 + 88 * number
            axes = chart.panel(figure, 30, top, 354, 50)
            axes.set(xlim=(0, LONGEST - 1), ylim=(-8, 9))
            axes.axvspan(0, TRAINED - 1, color=chart.ACCENT, alpha=0.12, linewidth=0)
            drawn: dict[str, Any] = {"color": chart.ACCENT, "linewidth": 1.5, "gid": f"part:{name}"}
            axes.plot(range(LONGEST), values, **drawn)
            at = tops[name]
            axes.axhline(values[1], color=chart.INK, linewidth=0.6)
            axes.plot([at], [values[at]], "o", color=chart.ACCENT_2, markersize=5)
            lowest = number == len(curves) - 1
            ticks = {d: str(d) if lowest else "" for d in (0, 31, 128, 255)}
            chart.set_ticks(axes, "x", ticks)
            chart.set_ticks(axes, "y", {0: "0", 5: "5"})
            figure.text(30 / 400, (308 - top + 9) / 308, text[name], va="center", weight="bold")
            highest = text["highest"].format(place=at)
            figure.text(384 / 400, (308 - top + 9) / 308, highest, ha="right", va="center")
        figure.text(384 / 400, 8 / 308, text["right"], ha="right", va="baseline")
        figure.text(0, 1 - 8 / 308, text["up"], va="center")
        figure.text(34 / 400, 8 / 308, text["trained"], ha="left", va="baseline")
        desc = text["desc"].format(**tops)
        return chart.finish(figure, f"{KEY}-scores", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"tests": tests, "reach": reach, "scores": scores}
