"""Figures of the chapter on windows: masks, the way through two layers, slots, reach, the loss."""

import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch

from attn_docs import KVCache, sliding_window_mask
from attn_docs.model.language_model import ALPHABET
from attn_docs.sentence import WORDS
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, box, canvas, cells, finish, write
from docs._kit.examples import example
from docs._kit.text import texts

from .benchmark import BEGIN, CUT
from .tables import ends, lost, model

KEY = "checkpoints-window"
WINDOW, PATH = 3, (1, 2, 4)  # of the path: cat, in layer 1 to sleeps, in layer 2 to dreams
RING, FIRST, STEPS = 4, 1, 8  # of the slots
PLACES = range(91, 111)  # characters of a story, from 1, where none has ended
MASKS: dict[str, dict[str, int]] = {  # by its name
    "causal": {"window": 8},
    "window": {"window": 3},
    "kept": {"window": 3, "keep_first": 1},
}
STYLES = ((chart.INK, ":"), (chart.ACCENT_2, "--"), (chart.ACCENT, "--"), (chart.ACCENT, "-"))


def masks(language: str) -> str:
    """Draw the causal mask, one with a window, and one that also keeps the first token."""
    text, size, tokens = texts(__file__, "masks", language), 13, 8
    drawing = canvas(400, 22 + tokens * size + 20)
    for number, (name, setting) in enumerate(MASKS.items()):
        left, group = 46 + 124 * number, drawsvg.Group(data_mask=name)
        write(group, text[name], left + tokens * size / 2, 10, 12)
        seen = sliding_window_mask(tokens, **setting)
        cells(group, (0.45 * seen).tolist(), left, 22, size, size)
        drawing.append(group)
    write(drawing, text["query"], 40, 22 + size / 2, 12, text_anchor="end")
    write(drawing, text["key"], 46, 22 + tokens * size + 11, 12, text_anchor="start")
    return finish(drawing.as_svg(header=""), f"{KEY}-masks", text["title"], text["desc"], zoom=1.1)


def path(language: str) -> str:
    """Draw which words each word sees in two layers with a window, and one way through both."""
    text = texts(__file__, "path", language)
    drawing = canvas(400, 190)
    rows = (160, 95, 30)
    for layer in (0, 1):
        for i in range(len(WORDS)):
            for j in range(max(0, i - WINDOW + 1), i + 1):
                lit = (j, i) == PATH[layer : layer + 2]
                drawing.append(
                    drawsvg.Line(
                        *(_x(j), rows[layer] - 14, _x(i), rows[layer + 1] + 14),
                        stroke=ACCENT if lit else INK,
                        stroke_width=3 if lit else 1,
                        stroke_opacity=1 if lit else 0.35,
                        **{"data-from": j, "data-to": i, "data-layer": layer + 1},
                    )
                )
    for layer, y in enumerate(rows):
        write(drawing, text["rows"][layer], 4, y, 12, text_anchor="start")
        for i, word in enumerate(WORDS):
            box(drawing, _x(i) - 27, y - 13, 54, 26, lit=i == PATH[layer], fill_opacity=0.35)
            write(drawing, word, _x(i), y, 12)
    return finish(drawing.as_svg(header=""), f"{KEY}-path", text["title"], text["desc"], zoom=1.1)


def _x(word: int) -> float:
    return 118 + 63 * word


def held() -> list[list[int | None]]:
    """Return the token in each slot after each step, of a cache that keeps the first one."""
    cache, rows = KVCache(1, 1, 1, 64, window=RING, keep_first=FIRST), []
    for t in range(STEPS):
        cache.update(torch.full((1, 1, 1, 1), float(t)), torch.zeros(1, 1, 1, 1))
        slots = cache.key.flatten().tolist()
        rows.append([int(slot) if i < cache.length else None for i, slot in enumerate(slots)])
    return rows


def slots(language: str) -> str:
    """Draw what the slots hold from step to step when the first token is kept."""
    text, rows = texts(__file__, "slots", language), held()
    width, height, left, top = 44, 22, 104, 24
    drawing = canvas(400, top + STEPS * height + 4)
    for slot in range(FIRST + RING):
        name = text["kept"] if slot < FIRST else text["slot"].format(slot=slot)
        write(drawing, name, left + (slot + 0.5) * width, 10, 12)
    for t, row in enumerate(rows):
        y = top + (t + 0.5) * height
        group = drawsvg.Group(data_step=t)
        write(group, text["token"].format(t=t), left - 8, y, 12, text_anchor="end")
        shades = [[0.35 if held == t else 0 for held in row]]
        cells(group, shades, left, top + t * height, width, height)
        for slot, token in enumerate(row):
            shown = text["empty"] if token is None else str(token)
            write(group, shown, left + (slot + 0.5) * width, y, 12)
        drawing.append(group)
    desc = text["desc"].format(last=", ".join(map(str, rows[-1])))
    return finish(drawing.as_svg(header=""), f"{KEY}-slots", text["title"], desc)


def reach(language: str) -> str:
    """Draw how strongly the last output of a stack depends on each input."""
    text, gradient = texts(__file__, "reach", language), example("checkpoints/window/reach")
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 200)
        axes = chart.panel(figure, 46, 28, 340, 122)
        axes.set(yscale="log", xlim=(0, 32), ylim=(1e-6, 2))
        for layers, (colour, style) in zip((1, 2, 3, 4), STYLES, strict=True):
            sizes = gradient["gradient"](layers)
            shown = (sizes / sizes.sum())[: int(sizes.nonzero().max()) + 1].tolist()
            (line,) = axes.plot(range(len(shown)), shown, color=colour, linestyle=style)
            line.set_gid(f"part:layers-{layers}")
            axes.plot([len(shown) - 1] * 2, [1e-6, shown[-1]], color=colour, linestyle=style)
            axes.text(
                len(shown) - 0.6, 2.2e-6, str(layers), ha="left", va="bottom", color=chart.INK
            )
        ticks = {0: "0", 7: "7", 14: "14", 21: "21", 28: "28"}
        chart.set_ticks(axes, "x", ticks)
        powers = {1: "100%", 1e-2: "1%", 1e-4: "0.01%"}
        chart.set_ticks(axes, "y", powers)
        axes.text(0, 1.1, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.27, text["right"], transform=axes.transAxes, ha="right", va="center")
        return chart.finish(figure, f"{KEY}-reach", text["title"], text["desc"])


def by_place() -> dict[str, list[float]]:
    """Return the nats of a character by its place in a story, and at last those of its newline."""
    end, found = ends(), {}
    settings: dict[str, dict[str, int]] = {"first": {"window": CUT, "keep_first": 1}}
    for name, setting in (settings | {"all": {}, "window": {"window": CUT}}).items():
        nats = lost(model(**setting))
        means = nats.where(~end, torch.nan).nanmean(0)
        found[name] = [means[place - 1].item() for place in PLACES] + [nats[end].mean().item()]
    return found


def cut(language: str) -> str:
    """Draw the loss before and after the window has filled, with the first token and without."""
    text, guess = texts(__file__, "cut", language), math.log(len(ALPHABET))
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 200)
        axes, end = chart.panel(figure, 36, 28, 244, 122), chart.panel(figure, 334, 28, 60, 122)
        axes.set(xlim=(PLACES[0] - 0.5, PLACES[-1] + 0.5), ylim=(0, 0.8))
        end.set(xlim=(0, 1), ylim=(0, 8))
        styles = {"first": (chart.ACCENT, "-", 3.5), "all": (chart.INK, ":", 1.5)}
        styles["window"] = (chart.ACCENT_2, "-", 1.5)
        for name, nats in by_place().items():
            colour, style, width = styles[name]
            (drawn,) = axes.plot(PLACES, nats[:-1], color=colour, linestyle=style, linewidth=width)
            drawn.set_gid(f"part:{name}")
            (mark,) = end.plot((0.2, 0.8), nats[-1:] * 2, color=colour, linewidth=2 * width)
            mark.set_gid(f"part:{name}-last")
        axes.axvline(BEGIN + 0.5, color=chart.INK, linewidth=1, linestyle="--")
        axes.text(BEGIN, 0.72, text["full"], ha="right", va="center", color=chart.INK)
        axes.text(BEGIN + 1, 0.6, text["window"], ha="left", va="center", color=chart.INK)
        for y, line in zip((0.5, 0.4), text["both"], strict=True):
            axes.text(PLACES[0], y, line, ha="left", va="center", color=chart.INK)
        end.axhline(guess, color=chart.INK, linewidth=1, linestyle="--")
        end.text(0.5, guess + 0.8, text["guess"], ha="center", va="center", color=chart.INK)
        chart.set_ticks(axes, "x", {x: str(x) for x in (91, 96, 101, 106)})
        chart.set_ticks(axes, "y", {0: "0", 0.2: "0.2", 0.4: "0.4", 0.6: "0.6"})
        chart.set_ticks(end, "x", {})
        chart.set_ticks(end, "y", {y: text["unit"].format(y=y) for y in (0, 4, 8)})
        axes.text(0, 1.1, text["up"], transform=axes.transAxes, ha="left", va="center")
        axes.text(1, -0.27, text["right"], transform=axes.transAxes, ha="right", va="center")
        end.text(1, -0.27, text["last"], transform=end.transAxes, ha="right", va="center")
        return chart.finish(figure, f"{KEY}-cut", text["title"], text["desc"])


FIGURES: dict[str, Callable[[str], str]] = {
    "masks": masks,
    "path": path,
    "slots": slots,
    "reach": reach,
    "cut": cut,
}
