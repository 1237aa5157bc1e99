"""Figures of the chapter on steadier attention: a sink, scores that grow, what a cap does."""

import itertools
import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch

from attn_docs.model.induction import SYMBOLS
from attn_docs.sentence import WORDS, embeddings, projections
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import CAP, DRAWN, EVERY, SEEDS, STEPS, WAYS

KEY = "checkpoints-steadier"
NOUN, SINK = 8, 4  # exp(score) of a noun and of the sink
_UNIT = 24
_LEFT, _WIDTH = 46, 340
FLAT = 0.01  # a slope of the cap below which hardly any gradient passes


def watched(quantity: str, way: str, seed: int) -> tuple[list[int], list[float]]:
    """Return the steps at which the loss or the largest score was looked at, and what it was."""
    found, steps = load(__file__)["growth"], list(range(0, STEPS, EVERY))
    of = {"way": way, "rate": str(DRAWN), "seed": seed}
    return steps, [found(quantity, step=step, **of) for step in steps]


def learned(way: str, seed: int) -> bool:
    """Return whether a run that is drawn gets most of the tokens right that repeat."""
    return load(__file__)["growth"]("accuracy", way=way, rate=str(DRAWN), seed=seed) > 0.5


def growth(language: str) -> str:
    """Draw the loss and the largest score of each way and seed in training."""
    text = texts(__file__, "growing", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 272)
        for row, quantity in enumerate(("loss", "score")):
            for column, way in enumerate(WAYS):
                axes = chart.panel(figure, 42 + 120 * column, 44 + 112 * row, 104, 70)
                axes.set(xlim=(0, STEPS), ylim=(0, 4))
                ticks = {0: "0", 2: "2", 4: "4"}
                dashed = math.log(len(SYMBOLS))
                if quantity == "score":
                    axes.set(yscale="log", ylim=(1, 3000))
                    ticks, dashed = {1: "1", 10: "10", 100: "100", 1000: "1,000"}, CAP
                colour = chart.ACCENT if way == "norm" else chart.ACCENT_2
                for seed in SEEDS:
                    places = (values[::2] for values in watched(quantity, way, seed))
                    width = 2.4 if learned(way, seed) else 1.0
                    (drawn,) = axes.plot(*places, color=colour, linewidth=width)
                    drawn.set_gid(f"part:{quantity}-{way}-{seed}")
                if quantity == "loss" or way == "cap":
                    axes.axhline(dashed, color=chart.INK, linestyle="--", linewidth=1)
                if row == 0:
                    axes.text(STEPS / 2, 5.5, text[way], ha="center", va="center")
                shown = {step: str(step) if row else "" for step in (0, 200, 400)}
                chart.set_ticks(axes, "x", shown)
                chart.set_ticks(axes, "y", {y: "" if column else name for y, name in ticks.items()})
        for axes, name in zip(figure.axes[::3], text["up"], strict=True):
            axes.text(0, 1.14, name, transform=axes.transAxes, ha="left", va="center")
        axes = figure.axes[-1]
        axes.text(1, -0.5, text["right"], transform=axes.transAxes, ha="right", va="center")
        return chart.finish(figure, f"{KEY}-growth", text["title"], text["desc"])


def cap(language: str) -> str:
    """Draw what a cap makes of a score, and where it is flat."""
    text = texts(__file__, "capped", language)
    given = [4.0 * i for i in range(51)]
    flat = CAP * math.acosh(FLAT**-0.5)  # the slope 1/cosh² is FLAT there
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 176)
        axes = chart.panel(figure, _LEFT, 26, _WIDTH, 100)
        axes.set(xlim=(0, 200), ylim=(0, 60))
        axes.axvspan(flat, 200, color=chart.ACCENT_2, alpha=0.15, linewidth=0)
        axes.plot((0, 60), (0, 60), color=chart.INK, linestyle="--", linewidth=1)
        (drawn,) = axes.plot(
            given, [CAP * math.tanh(s / CAP) for s in given], color=chart.ACCENT, linewidth=2.4
        )
        drawn.set_gid("part:capped")
        axes.text(66, 57, text["plain"], ha="left", va="center")
        axes.text(84, 38, text["capped"], ha="left", va="center")
        axes.text((flat + 200) / 2, 20, text["flat"][0], ha="center", va="center")
        axes.text((flat + 200) / 2, 11, text["flat"][1], ha="center", va="center")
        chart.set_ticks(axes, "x", {s: str(s) for s in range(0, 201, 50)})
        chart.set_ticks(axes, "y", {s: str(s) for s in range(0, 51, 25)})
        axes.text(0, 1.14, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.34, text["right"], transform=axes.transAxes, ha="right", va="center")
        return chart.finish(figure, f"{KEY}-cap", text["title"], text["desc"])


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
            start, end = (8 + _UNIT * sum((*exps, SINK)[:at]) for at in (left, right))
            middle = max((start + end) / 2, 38 if right - left == 2 else 0)
            edge = {"stroke": INK, "stroke_opacity": 0.6}
            drawing.append(drawsvg.Line(start + 2, y - 4, end - 2, y - 4, **edge))
            write(drawing, ", ".join((*words, text["sink"])[left:right]), middle, y - 12, 11)
        kept, whole = sum(exps), sum(exps) + SINK
        label = text["keeps"][row].format(kept=kept, whole=whole)
        write(drawing, label, 8, y + 42, 12, text_anchor="start")
        told.append((kept, whole))
    desc = text["desc"].format(a=told[0][0], b=told[0][1], c=told[1][0], d=told[1][1])
    return finish(drawing.as_svg(header=""), f"{KEY}-sink", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"sink": sink, "growth": growth, "cap": cap}
