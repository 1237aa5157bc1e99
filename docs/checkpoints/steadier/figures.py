"""Figures of the chapter on steadier attention: where each stands, scores that grow, a sink."""

import itertools
import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch

from attn_docs.sentence import WORDS, embeddings, projections
from docs._kit import chart, draw
from docs._kit.draw import ACCENT, ACCENT_2, INK, ON_ACCENT, box, canvas, finish, stage_grid, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import DRAWN, EVERY, SEEDS, STEPS, WAYS

KEY = "checkpoints-steadier"
NOUN, SINK = 8, 4  # exp(score) of a noun and of the sink
_UNIT = 24
_LABELS = {"plain": (60, 1500), "norm": (330, 5), "cap": (210, 150)}
_STYLES = {"plain": (chart.ACCENT_2, "-"), "norm": (chart.ACCENT, "-"), "cap": (chart.INK, "--")}


def line(language: str) -> str:
    """Draw the nine stages, and at which of them each of the six stands."""
    text = texts(__file__, "line", language)
    names, stands = texts(draw.__file__, "stages", language), text["stands"]
    width, height = 106, 42

    def stage(group: drawsvg.Group, name: str, x: float, y: float) -> None:
        here = name in stands
        box(group, x, y, width, height)
        box(group, x, y, width, 22, lit=here)
        told = {"font_weight": "bold", "fill": ON_ACCENT} if here else {}
        write(group, names[name], x + width / 2, y + 11, 13, **told)
        if here:
            write(group, stands[name], x + width / 2, y + 31, 12)

    drawing = stage_grid(width, height, stage)
    return finish(drawing.as_svg(header=""), f"{KEY}-line", text["title"], text["desc"])


def scores(way: str, seed: int) -> tuple[list[int], list[float]]:
    """Return the steps at which the largest score was looked at, and what it was."""
    found, steps = load(__file__)["growth"], list(range(0, STEPS, EVERY))
    of = {"way": way, "rate": str(DRAWN), "seed": seed}
    return steps, [found("score", step=step, **of) for step in steps]


def growth(language: str) -> str:
    """Draw the largest score of each way and seed while it trains."""
    text = texts(__file__, "growing", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 236)
        axes = chart.panel(figure, 46, 34, 340, 150)
        axes.set(yscale="log", xlim=(0, STEPS), ylim=(1, 3000))
        for way in WAYS:
            colour, style = _STYLES[way]
            for seed in SEEDS:
                (drawn,) = axes.plot(
                    *scores(way, seed), color=colour, linestyle=style, linewidth=1.6
                )
                drawn.set_gid(f"part:{way}-{seed}")
        for way, (x, y) in _LABELS.items():
            axes.text(x, y, text[way], ha="left", va="center")
        chart.set_ticks(axes, "x", {step: str(step) for step in range(0, STEPS + 1, 100)})
        chart.set_ticks(axes, "y", {1: "1", 10: "10", 100: "100", 1000: "1,000"})
        axes.text(0, 1.12, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.24, text["right"], transform=axes.transAxes, ha="right", va="center")
        return chart.finish(figure, f"{KEY}-growth", text["title"], text["desc"])


def shares(first: int) -> tuple[list[str], list[int]]:
    """Return the words from the given one on, and exp of their scores for "it"."""
    x = embeddings()
    w_q, w_k, _ = projections(sharpness=math.log(NOUN))
    exps = ((x[3] @ w_q) @ (x[first:] @ w_k).T).exp().round()
    return list(WORDS[first:]), [int(value) for value in exps.to(torch.int64).tolist()]


def sink(language: str) -> str:
    """Draw the exponentiated scores of "it" and of a sink side by side, twice."""
    text, drawing = texts(__file__, "sink", language), canvas(400, 176)
    told = []
    for row, first in enumerate((0, 3)):
        y, x = 18 + 92 * row, 8.0
        words, exps = shares(first)
        for exp in (*exps, SINK):
            fill = {"fill": ACCENT_2 if exp == SINK else ACCENT, "fill_opacity": 0.35}
            edge = {"stroke": INK, "stroke_opacity": 0.35}
            drawing.append(drawsvg.Rectangle(x, y, exp * _UNIT, 26, data_exp=exp, **fill, **edge))
            write(drawing, str(exp), x + exp * _UNIT / 2, y + 13, 12)
            x += exp * _UNIT
        cat = words.index("cat") if "cat" in words else 0
        ends = (0, cat, cat + (cat > 0), len(exps), len(exps) + 1)
        for left, right in itertools.pairwise(dict.fromkeys(ends)):
            middle = 8 + _UNIT * (sum(exps[:left]) + sum((*exps, SINK)[:right])) / 2
            write(drawing, ", ".join((*words, text["sink"])[left:right]), middle, y - 9, 12)
        kept, whole = sum(exps), sum(exps) + SINK
        label = text["keeps"][row].format(kept=kept, whole=whole)
        write(drawing, label, 8, y + 42, 12, text_anchor="start")
        told.append((kept, whole))
    desc = text["desc"].format(a=told[0][0], b=told[0][1], c=told[1][0], d=told[1][1])
    return finish(drawing.as_svg(header=""), f"{KEY}-sink", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"line": line, "growth": growth, "sink": sink}
