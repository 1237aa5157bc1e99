"""Figures of the chapter on which kernel runs."""

from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import INK, ON_ACCENT, arrow, box, canvas, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import LENGTHS, WAYS

KEY = "kernels-which-kernel"
# questions in the order in which PyTorch asks them on a CPU, each with rows of the table of calls
# that fail it
QUESTIONS = {
    "dropout": ("dropout",),
    "axes": ("axes",),
    "heads": ("batch_of_one",),
    "mask": ("mask_axes", "learned"),
    "sizes": ("values",),
    "strided": ("strided",),
}
_ROW, _BOX, _WIDTH, _MATH = 44, 28, 262, 300
_RIGHT = 399  # the right edge of the box of MATH


def choice(language: str) -> str:
    """Draw the questions that decide which kernel runs on a CPU, and where each answer leads."""
    text = texts(__file__, "choice", language)
    bottom = _ROW * len(QUESTIONS)
    drawing = canvas(400, bottom + 74)
    for row, question in enumerate(QUESTIONS):
        group, top, middle = drawsvg.Group(data_question=question), _ROW * row, _ROW * row + 14
        box(group, 0, top, _WIDTH, _BOX)
        write(group, text["questions"][question], _WIDTH / 2, middle, 12)
        arrow(group, (_WIDTH + 2, middle), (_MATH - 2, middle))
        write(group, text["yes"], (_WIDTH + _MATH) / 2 - 3, middle - 7, 11.5)
        arrow(group, (_WIDTH / 2, top + _BOX + 1), (_WIDTH / 2, top + _ROW - 1))
        write(group, text["no"], _WIDTH / 2 + 16, top + _BOX + 7, 11.5)
        drawing.append(group)
    _ends(drawing, text, bottom)
    return finish(drawing.as_svg(header=""), f"{KEY}-choice", text["title"], text["desc"], zoom=1.2)


def _ends(drawing: drawsvg.Drawing, text: dict[str, str], bottom: float) -> None:
    """Draw the two kernels, each with what it writes."""
    fused, math = drawsvg.Group(data_kernel="FLASH_ATTENTION"), drawsvg.Group(data_kernel="MATH")
    box(fused, 0, bottom, _WIDTH, 70, lit=True)
    bold = {"font_weight": "bold"}
    write(fused, "FLASH_ATTENTION", _WIDTH / 2, bottom + 16, 13, fill=ON_ACCENT, **bold)
    for line, words in enumerate(text["fused"]):
        write(fused, words, _WIDTH / 2, bottom + 37 + 18 * line, 12, fill=ON_ACCENT)
    box(math, _MATH, 1, _RIGHT - _MATH, bottom - 17, fill="none", stroke=INK, stroke_width=1.25)
    top = (bottom - 16) / 2 - 50
    write(math, "MATH", (_RIGHT + _MATH) / 2, top, 13, **bold)
    for line, words in enumerate(text["math"]):
        write(math, words, (_RIGHT + _MATH) / 2, top + 24 + 18 * line, 12)
    drawing.append(fused)
    drawing.append(math)


def sizes() -> dict[str, list[float]]:
    """Return the memory of each kernel's forward pass over the length, as measured."""
    found = load(__file__)["lengths"]
    return {
        way: [found("memory", way=way, length=length, **{"pass": "forward"}) for length in LENGTHS]
        for way in WAYS
    }


_LOOKS = {
    "fused": {"color": chart.ACCENT, "marker": "o", "linewidth": 2, "markersize": 5},
    "math": {"color": chart.ACCENT_2, "marker": "s", "linewidth": 2, "markersize": 5},
}


def memory(language: str) -> str:
    """Chart the memory that both kernels take, over the length, both axes logarithmic."""
    text, values = texts(__file__, "memory", language), sizes()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 230)
        axes = chart.panel(figure, 56, 30, 320, 156)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlim(LENGTHS[0] * 0.9, LENGTHS[-1] * 1.15)
        axes.set_ylim(0.15, 600)
        chart.set_ticks(axes, "x", {length: f"{length:,}" for length in LENGTHS})
        chart.set_ticks(axes, "y", {tick: f"{tick:g}" for tick in (1, 10, 100)})
        for way, look in _LOOKS.items():
            axes.plot(LENGTHS, values[way], **look, markeredgewidth=0, gid=f"part:{way}")
            place = (LENGTHS[2] * 1.1, values[way][2] * (0.4 if way == "fused" else 2.2))
            axes.text(*place, text[way], ha="left" if way == "fused" else "right", va="center")
        figure.text(0, 1 - 10 / 230, text["y"], va="center")
        figure.text(376 / 400, 6 / 230, text["x"], ha="right", va="baseline")
        rows = {way: " ".join(f"{size:g}" for size in values[way]) for way in WAYS}
        desc = text["desc"].format(lengths=" ".join(f"{n:,}" for n in LENGTHS), **rows)
        return chart.finish(figure, f"{KEY}-memory", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {"choice": choice, "memory": memory}
