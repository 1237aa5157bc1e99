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
from attn_docs.position.extrapolation import KINDS, TRAINED
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SOFT, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from .benchmark import LENGTHS, LONGEST, PLACES
from .tables import mean, of_seeds

if TYPE_CHECKING:
    from attn_docs import MultiHeadAttention
    from attn_docs.model import Block

KEY = "position-extrapolation"
_LOOKS = {
    "near": (chart.ACCENT, "-"),
    "half": (chart.INK, ":"),
    "start": (chart.ACCENT_2, "--"),
}
PANELS = (*KINDS, "yarn")
_WIDE, _HIGH = 72, 74  # of a panel
_PITCH, _ROW = 96, 112  # from one to the next
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


def reach(language: str) -> str:
    """Draw the accuracy over the test length: a panel for each kind, a line for each test."""
    text, ends, height = texts(__file__, "reach", language), {}, 270
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, height)
        for number, kind in enumerate(PANELS):
            row, column = divmod(number, 4)
            left, top = 22 + _PITCH * column, 44 + _ROW * row
            axes = chart.panel(figure, left, top, _WIDE, _HIGH)
            axes.set(xscale="log", xlim=(TRAINED, LONGEST), ylim=(0, 1.03))
            ends[kind] = _lines(axes, kind)
            chart.set_ticks(axes, "x", {32: "32", 64: "", 128: "", 256: "256"})
            axes.tick_params("x", pad=7)
            axes.grid(visible=False, axis="x")
            ticks = {0: "0", 0.5: "", 1: "1"}
            chart.set_ticks(axes, "y", dict.fromkeys(ticks, "") if column else ticks)
            name = {"ha": "left", "va": "center", "weight": "bold"}
            figure.text(left / 400, (height - top + 11) / height, text[kind], **name)
        for row, place in enumerate(_LOOKS):
            y = 1 - (_ROW + 44 + 16 + 20 * row) / height
            x = 22 + 3 * _PITCH
            colour, dash = _LOOKS[place]
            line = matplotlib.lines.Line2D((x / 400, (x + 26) / 400), (y, y))
            line.set(color=colour, linestyle=dash, linewidth=2)
            figure.add_artist(line)
            figure.text((x + 32) / 400, y, text[place], va="center")
        figure.text(0, 1 - 9 / height, text["up"], va="center")
        figure.text(22 / 400, 8 / height, text["right"], ha="left", va="baseline")
        told = {
            place: _told({kind: of[place] for kind, of in ends.items()}, text) for place in PLACES
        }
        return chart.finish(figure, f"{KEY}-reach", text["title"], text["desc"].format(**told))


def _lines(axes: Axes, kind: str) -> dict[str, float]:
    """Draw the mean of each test and the range of its seeds; return where the means end."""
    stored, ends = load(__file__), {}
    found = stored["rules" if kind == "yarn" else "kinds"]
    for place, (colour, dash) in _LOOKS.items():
        look: dict[str, Any] = {"color": colour, "linestyle": dash, "clip_on": False}
        of = {"rule" if kind == "yarn" else "kind": kind, "place": place}
        seeds = [of_seeds(found, length=n, **of) for n in LENGTHS]
        low, high = [min(values) for values in seeds], [max(values) for values in seeds]
        axes.fill_between(LENGTHS, low, high, facecolor=(colour, 0.2), linewidth=0)
        means = [mean(found, length=n, **of) for n in LENGTHS]
        axes.plot(LENGTHS, means, linewidth=2, gid=f"part:{place}-{kind}", **look)
        ends[place] = means[-1]
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
            said = {"place": at, "high": values[at], "one": values[1]}
            highest = text["highest" if at > 1 else "first"].format(**said)
            figure.text(384 / 400, (308 - top + 9) / 308, highest, ha="right", va="center")
        figure.text(384 / 400, 8 / 308, text["right"], ha="right", va="baseline")
        figure.text(0, 1 - 8 / 308, text["up"], va="center")
        figure.text(34 / 400, 8 / 308, text["trained"], ha="left", va="baseline")
        desc = text["desc"].format(**tops)
        return chart.finish(figure, f"{KEY}-scores", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"tests": tests, "reach": reach, "scores": scores}
