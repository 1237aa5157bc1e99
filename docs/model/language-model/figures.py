"""Figures of the chapter on the language model: its training, and where its heads look."""

from collections.abc import Callable, Sequence

import drawsvg
import matplotlib.style

from attn_docs.model.language_model import text_of
from docs._kit import chart
from docs._kit.draw import ACCENT, INK, SHADE, arrow, canvas, finish, write
from docs._kit.examples import example
from docs._kit.text import texts

from . import tables
from .benchmark import BUGS, LEAST

KEY = "model-language-model"
LINES = ("1", "2", "3", "floor")  # of the training curve: n-grams by order, and the floor
_GAP, _LINE, _WIDTH = 8, 22, 396
_WIDTHS = {"i": 3.5, "j": 3.5, "l": 3.5, ".": 4, "f": 4.5, "r": 5, "t": 5, "m": 11, "w": 10}
_LEFT, _COLUMN, _HEAD, _PITCH = 2, 14.6, 56, 42  # of the map of the bugs


def story_words() -> list[str]:
    """Return the words of the first held-out story, after the newline before it."""
    return ["⏎", *text_of(tables.held_out()[0]).split()]


def training(language: str) -> str:
    """Chart the nats of a held-out story over the steps of training."""
    text = texts(__file__, "training", language)
    steps, nats = zip(
        *((at["step"], sum(at["nats"].values())) for at in tables.curve()), strict=True
    )
    levels = [sum(tables.judged()[name].values()) for name in LINES]
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 270)
        axes = chart.panel(figure, 36, 30, 262, 200)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(steps[1:], nats[1:], color=chart.ACCENT, linewidth=2, gid="part:model")
        for name, level in zip(LINES, levels, strict=True):
            axes.axhline(level, color=chart.INK, linewidth=1, gid=f"part:line-{name}")
        labels = zip((*levels, nats[-1]), (*text["lines"], text["model"]), strict=True)
        for level, label in labels:
            up = {text["model"]: 8, text["lines"][-1]: -8}.get(label, 0)
            place = {"xytext": (6, up), "textcoords": "offset points", "va": "center"}
            shown = text["level"].format(label=label, level=f"{level:.{int(level < 20)}f}")
            axes.annotate(shown, (steps[-1], level), **place)
        axes.set_xlim(steps[1], steps[-1])
        axes.set_ylim(13, 420)
        chart.set_ticks(axes, "x", {step: str(step) for step in (25, 100, 400, 1600)})
        chart.set_ticks(axes, "y", {level: str(level) for level in (15, 30, 60, 120, 240)})
        figure.text(0, 262 / 270, text["nats"], va="top")
        figure.text(298 / 400, 6 / 270, text["steps"], ha="right", va="baseline")
        found = text["join"].join(
            text["at"].format(step=at["step"], nats=sum(at["nats"].values()))
            for at in tables.curve()
        )
        desc = text["desc"].format(found=found, lines=text["join"].join(
            f"{label}: {level:.1f}" for label, level in zip(text["lines"], levels, strict=True)
        ))  # fmt: skip
        return chart.finish(figure, f"{KEY}-training", text["title"], desc)


def looks(language: str) -> str:
    """Draw the story once a head, each word shaded by what that head gives it."""
    text = texts(__file__, "looks", language)
    drawing, words = canvas(400, 103 * len(tables.SHOWN) - 3), story_words()
    told = []
    for at, (head, asks) in enumerate(tables.SHOWN):
        row = tables.row_of(asks)
        found = tables.word_maps()[1][head, row]
        weights = (found * (found >= LEAST)).tolist()
        label = text["label"].format(head=head + 1, word=words[row + 1])
        told.append(text["told"].format(label=label, most=most(weights, words)))
        shaded(drawing, f"head-{head + 1}", told[-1], weights, row, 103 * at)
    desc = text["desc"].format(story=" ".join(words[1:]), told=text["join"].join(told))
    return finish(drawing.as_svg(header=""), f"{KEY}-looks", text["title"], desc, zoom=1.4)


def bugs(language: str) -> str:
    """Draw for each trained layer a row of weights below the words of one story."""
    text = texts(__file__, "bugs_figure", language)
    words, row = story_words(), tables.row_of("dream")
    height = _HEAD + _PITCH * (1 + len(BUGS))
    drawing, told = canvas(400, height), []
    for at, word in enumerate(words):
        x = _LEFT + _COLUMN * (at + 0.5)
        write(
            drawing,
            word,
            x,
            _HEAD - 4,
            12,
            text_anchor="start",
            transform=f"rotate(-90 {x} {_HEAD - 4})",
        )
    line = _LEFT + _COLUMN * (row + 1)
    dashes = {"stroke": INK, "stroke_width": 1.5, "stroke_dasharray": "3 3"}
    drawing.append(drawsvg.Line(line, 0, line, height, **dashes, data_part="written"))
    for at, name in enumerate(("right", *BUGS)):
        weights = tables.bug_row(name, row)
        label = texts(__file__, "bugs", language)[name]
        told.append(text["told"].format(label=label, most=most(weights, words)))
        drawing.append(percents(name, label, weights, _HEAD + _PITCH * at))
    desc = text["desc"].format(word=words[row + 1], told=text["join"].join(told))
    return finish(drawing.as_svg(header=""), f"{KEY}-bugs", text["title"], desc, zoom=1.6)


def percents(part: str, label: str, weights: Sequence[float], top: float) -> drawsvg.Group:
    """Return a label and a row of cells, shaded by their weights, which are given in percent."""
    group = drawsvg.Group(data_part=part)
    write(group, label, _LEFT, top + 8, 12, text_anchor="start", font_weight="bold")
    for at, weight in enumerate(weights):
        if weight > 0:
            x = _LEFT + _COLUMN * at
            shade = {"fill": ACCENT, "fill_opacity": round(SHADE * min(2 * weight, 1), 3)}
            group.append(drawsvg.Rectangle(x, top + 18, _COLUMN, 18, **shade, data_word=at))
            write(group, f"{100 * weight:.0f}", x + _COLUMN / 2, top + 27, 11)
    return group


def most(weights: Sequence[float], words: Sequence[str]) -> str:
    """Return the word with the largest weight, and the weight."""
    at = max(range(len(weights)), key=weights.__getitem__)
    return f"{words[at]} {weights[at]:.2f}"


def shaded(
    drawing: drawsvg.Drawing, part: str, label: str, weights: list[float], row: int, top: float
) -> None:
    """Write a label and the story's words below it, shaded by their weights, one word framed."""
    group = drawsvg.Group(data_part=part)
    write(group, label, 0, top + 9, 12, text_anchor="start", font_weight="bold")
    x, y = 0.0, top + 22.0
    for at, (word, weight) in enumerate(zip(story_words(), weights, strict=True)):
        letters = _letters(word)
        width = letters + _GAP
        if x + width > _WIDTH:
            x, y = 0.0, y + _LINE
        if weight > 0:
            shade = {"fill": ACCENT, "fill_opacity": round(SHADE * min(weight, 1), 3)}
            group.append(drawsvg.Rectangle(x, y, width, 19, **shade, data_word=at))
        if at == row + 1:
            frame = {"fill": "none", "stroke": INK, "stroke_width": 1.5}
            group.append(drawsvg.Rectangle(x, y, width, 19, **frame))
        write(group, word, x + width / 2, y + 9.5, 12, textLength=round(letters, 1))
        x += width + 1
    drawing.append(group)


def _letters(word: str) -> float:
    """Return how wide a word is at a font size of 12."""
    return sum(_WIDTHS.get(letter, 7.2) for letter in word)


def owner(language: str) -> str:
    """Draw which words have to be found, one after the other, to name the dream and the owner."""
    text = texts(__file__, "owner", language)
    words = ("max", "has", "a", "fox", "and", "tom", "a", "dog.", "the", "fox", "sleeps.",
             "it", "dreams", "of")  # fmt: skip
    shown = (*words, "geese.", "max")
    drawing, middles, x, y = canvas(400, 150), [], 4.0, 62.0
    widths = [0.83 * _letters(word) for word in shown]
    gap = (392 - sum(widths)) / (len(shown) - 1)
    for at, (word, width) in enumerate(zip(shown, widths, strict=True)):
        if at in (0, 3, 9, 14, 15):
            shade = {"fill": ACCENT, "fill_opacity": SHADE if at in (0, 3, 9) else 0}
            frame = {"stroke": INK, "stroke_opacity": 0.5 if at > 9 else 0}
            group = drawsvg.Group(data_word=at)
            group.append(drawsvg.Rectangle(x - 2, y - 11, width + 4, 22, **shade, **frame))
            drawing.append(group)
        write(drawing, word, x + width / 2, y, 11)
        middles.append(x + width / 2)
        x += width + gap
    _hop(drawing, middles[14], middles[9], y - 13, 40, text["dream"])
    for (start, end), depth, label in zip(
        ((15, 9), (9, 3), (3, 0)), (30, 54, 30), text["steps"], strict=True
    ):
        leaves = middles[start] - (5 if start < 15 else 0)
        _hop(drawing, leaves, middles[end] + (5 if end else 0), y + 13, -depth, label)
    return finish(drawing.as_svg(header=""), f"{KEY}-owner", text["title"], text["desc"], zoom=1.6)


def _hop(
    drawing: drawsvg.Drawing, start: float, end: float, y: float, up: float, label: str
) -> None:
    """Draw an arrow that leaves a word, runs along above or below the line, and comes back."""
    level = y - up + (8 if up > 0 else -8)
    arrow(drawing, (start, y), (start, level), (end, level), (end, y))
    middle = max((start + end) / 2, 3.2 * len(label))
    write(drawing, label, middle, level + (-9 if up > 0 else 10), 12)


def exchanged(language: str) -> str:
    """Draw how often each head, exchanged by itself, brings the other animal's dream."""
    text = texts(__file__, "exchanged", language)
    program = example("model/language_model/exchange")
    counts, stories = program["flipped"].tolist(), program["stories"]
    drawing = canvas(400, 92)
    for block, row in enumerate(counts):
        y = 24 + 34 * block
        write(drawing, text["block"].format(block=block + 1), 74, y + 15, 12, text_anchor="end")
        group = drawsvg.Group(data_block=block + 1)
        for head, count in enumerate(row):
            place = (84 + 72 * head, y, 72, 30)
            shade = round(SHADE * count / stories, 2)
            group.append(drawsvg.Rectangle(*place, fill=ACCENT, fill_opacity=shade))
            group.append(drawsvg.Rectangle(*place, fill="none", stroke=INK, stroke_opacity=0.35))
            write(group, str(count), 120 + 72 * head, y + 15, 13)
        drawing.append(group)
    for head in range(len(counts[0])):
        write(drawing, text["head"].format(head=head + 1), 120 + 72 * head, 12, 12)
    told = text["join"].join(str(count) for row in counts for count in row)
    desc = text["desc"].format(stories=stories, told=told)
    return finish(drawing.as_svg(header=""), f"{KEY}-exchanged", text["title"], desc, zoom=1.5)


def off(language: str) -> str:
    """Draw what each part costs without each head of block 2, shaded by what that loses."""
    text, names = (texts(__file__, name, language) for name in ("off", "parts"))
    whole, heads = tables.judged()["model"], tables.removed()
    drawing, told = canvas(400, 22 + 22 * (len(tables.KINDS) + 1)), []
    for column in range(5):
        label = text["head"].format(head=column) if column else text["none"]
        write(drawing, label, 194 + 45 * column, 9, 12)
    rows = [(names["kinds"][at], kind) for at, kind in enumerate(tables.KINDS)]
    for at, (name, kind) in enumerate([*rows, (text["total"], None)]):
        y, group = 20 + 22 * at, drawsvg.Group(data_kind=kind or "whole")
        values = [sum(n.values()) if kind is None else n[kind] for n in (whole, *heads)]
        bold = {"font_weight": "bold"} if kind is None else {}
        write(group, name, 165, y + 11, 12, text_anchor="end", **bold)
        for column, value in enumerate(values):
            if kind is not None:
                shade = round(SHADE * min((value - values[0]) / 4, 1), 2) if column else 0
                place = (172 + 45 * column, y, 45, 22)
                group.append(
                    drawsvg.Rectangle(
                        *place, fill=ACCENT, fill_opacity=max(shade, 0), stroke=INK,
                        stroke_opacity=0.25,
                    )
                )  # fmt: skip
            write(group, f"{value:.{1 if kind is None else 2}f}", 194 + 45 * column, y + 11, 12)
        if kind == "dream":
            frame = {"fill": "none", "stroke": INK, "stroke_width": 1.5}
            group.append(drawsvg.Rectangle(172, y, 225, 22, **frame))
        told.append(text["told"].format(part=name, values=" ".join(f"{v:.2f}" for v in values)))
        drawing.append(group)
    desc = text["desc"].format(told=text["join"].join(told))
    return finish(drawing.as_svg(header=""), f"{KEY}-off", text["title"], desc, zoom=1.35)


FIGURES: dict[str, Callable[[str], str]] = {
    "training": training,
    "looks": looks,
    "bugs": bugs,
    "owner": owner,
    "exchanged": exchanged,
    "off": off,
}
