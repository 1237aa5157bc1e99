"""Figures of the chapter without positions: bags, a loss, layers of models."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from attn_docs.model import language_model
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SHADE, SOFT, box, canvas, finish, write
from docs._kit.text import texts

from .tables import MODELS, layers_of, plain_curve, rotary_curve

KEY = "position-none"
SENTENCES = ("the dog chased the cat .".split(), "the cat chased the dog .".split())
LAST = language_model.STEPS
VERB = 3  # words that the verb has seen, itself among them

# --- nested bags ---------------------------------------------------------------------------------

_LEFT, _PITCH, _ROW = 62, 54, 25


def bags(language: str) -> str:
    """Draw what each word has seen after layer 1, in two sentences of the same words."""
    text = texts(__file__, "bags", language)
    drawing = canvas(400, 316)
    for number, words in enumerate(SENTENCES):
        group = drawsvg.Group(data_sentence=number)
        top = 14 + number * 156
        write(group, text["query"], 0, top, 12, text_anchor="start")
        write(group, text["bag"], 0, top + 26, 12, text_anchor="start")
        for column, word in enumerate(words):
            lit = {"font_weight": "bold"} if column == VERB - 1 else {}
            write(group, word, _LEFT + column * _PITCH + 24, top, 13, **lit)
        for column in range(len(words)):
            _bag(group, sorted(words[: column + 1]), column, top + 14)
        drawing.append(group)
    write(drawing, text["same"], 396, 306, 12, text_anchor="end")
    said = [", ".join(words[:VERB]) for words in SENTENCES]
    desc = text["desc"].format(first=said[0], second=said[1])
    return finish(drawing.as_svg(header=""), f"{KEY}-bags", text["title"], desc, zoom=1.5)


def _bag(group: drawsvg.Group, words: list[str], column: int, top: float) -> None:
    """Draw a bag: its words in the order of the alphabet, for a bag has none of its own."""
    left, last = _LEFT + column * _PITCH, len(SENTENCES[0]) - 1
    chosen = column == VERB - 1
    look = {"fill": ACCENT, "fill_opacity": SHADE} if chosen else {"fill": SOFT}
    look |= {"stroke": INK, "stroke_opacity": 0.9 if column in (VERB - 1, last) else 0.2}
    height = _ROW - 9
    box(group, left, top, 49, 10 + height * len(words), data_bag=" ".join(words), **look)
    for row, word in enumerate(words):
        write(group, word, left + 24.5, top + 12 + height * row, 11)


# --- what was learned ----------------------------------------------------------------------------


def story(language: str) -> str:
    """Chart what a story costs a model on the way, with rotary positions and without."""
    text, (width, height) = texts(__file__, "story", language), (400, 214)
    curves = {"none": (plain_curve(), chart.ACCENT), "rotary": (rotary_curve(), chart.ACCENT_2)}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        axes = chart.panel(figure, 34, 26, 346, 142)
        axes.set(xscale="log", xlim=(44, 1.06 * LAST), ylim=(0, 200))
        steps = (50, 100, 150, 300, 600, 1000, LAST)
        chart.set_ticks(axes, "x", {step: f"{step:,}" for step in steps})
        chart.set_ticks(axes, "y", {nats: str(nats) for nats in (0, 50, 100, 150, 200)})
        for name, (curve, colour) in curves.items():
            seen = {step: nats for step, nats in curve.items() if step >= 50}
            axes.plot(
                list(seen),
                list(seen.values()),
                color=colour,
                lw=1.6,
                marker="o",
                ms=3,
                gid=f"part:{name}",
            )
        least = language_model.least_nats()
        axes.axhline(least, color=chart.INK, lw=0.8, ls="--", gid="part:least")
        axes.text(168, 128, text["none"], ha="left", va="center")
        axes.text(54, 30, text["rotary"], ha="left", va="center")
        axes.text(LAST, 78, text["least"].format(least=f"{least:.1f}"), ha="right", va="center")
        figure.text(0.02, 1 - 12 / height, text["up"], va="center")
        figure.text(390 / width, 1 - 202 / height, text["right"], ha="right", va="center")
        said = {
            f"{n}_{at}": f"{c[at]:.1f}" for n, (c, _) in curves.items() for at in (100, 150, LAST)
        }
        desc = text["desc"].format(least=f"{least:.1f}", last=f"{LAST:,}", **said)
        return chart.finish(figure, f"{KEY}-story", text["title"], desc)


# --- layers of published models -------------------------------------------------------------------

_CELL, _STACK = 3.2, 120
_LOOKS = {
    "none": {"fill": ACCENT, "height": 18, "y": 0},
    "rotary": {"fill": SOFT, "height": 12, "y": 3, "stroke": INK, "stroke_opacity": 0.35},
    "recurrent": {"fill": ACCENT_2, "fill_opacity": 0.45, "height": 6, "y": 6},
}


def stacks(language: str) -> str:
    """Draw the layers of published models in order: without positions, rotary, recurrent."""
    text, said = texts(__file__, "stacks", language), []
    drawing, top = canvas(400, 34 + 26 * len(MODELS)), 30
    x = 0.0
    for kind, look in _LOOKS.items():
        drawing.append(drawsvg.Rectangle(x, width=7, **{**look, "y": 1 + look["y"]}))
        write(drawing, text[kind], x + 12, 10, 12, text_anchor="start")
        x += 26 + text["widths"][list(_LOOKS).index(kind)]
    for row, model in enumerate(MODELS):
        y, found = top + 26 * row, layers_of(model)
        write(drawing, model.name, 0, y + 9, 11.5, text_anchor="start")
        group = drawsvg.Group(data_model=model.name)
        for kind in (kind for kind in _LOOKS if kind in found):
            look = dict(_LOOKS[kind])
            up, height = y + look.pop("y"), look.pop("height")
            path = drawsvg.Path(data_kind=kind, **look)  # a part for each layer of the kind
            for column in (column for column, other in enumerate(found) if other == kind):
                path.M(round(_STACK + column * _CELL, 1), up).h(_CELL - 0.8).v(height)
                path.h(0.8 - _CELL).Z()
            group.append(path)
        write(group, f"{found.count('none')}/{len(found)}", 398, y + 9, 11.5, text_anchor="end")
        drawing.append(group)
        said.append(text["row"].format(name=model.name, some=found.count("none"), all=len(found)))
    desc = text["desc"].format(rows=text["join"].join(said))
    return finish(drawing.as_svg(header=""), f"{KEY}-stacks", text["title"], desc, zoom=1.5)


FIGURES: dict[str, Callable[[str], str]] = {
    "bags": bags,
    "story": story,
    "stacks": stacks,
}
