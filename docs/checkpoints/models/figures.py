"""The figure of the chapter on models: what a token costs at 128k, by year."""

import math
from collections.abc import Callable

import drawsvg

from attn_docs import KVModel
from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, finish, write
from docs._kit.text import texts

from .tables import LENGTHS, MODELS, digits, group, kib

KEY = "checkpoints-models"
YEARS = range(2017, 2027)
LEAST, MOST = 1.7, 9000.0  # KiB, the ends of the scale
TICKS = (4, 16, 64, 256, 1024, 4096)
LEFT, TOP, TALL = 40, 120, 236
EARLY, LATE, CROWDED = 19, 60, 2023  # width of a year before the first with many models, and after
SIDE = 6  # of a dot
BESIDE = 5.5  # from dot to dot of one group, year and value
# where a model's name stands beside its dot, and whether a line leads to it
NAMED = {
    "GPT-3 175B": (0, -12, "middle", False),
    "BLOOM 176B": (9, 8, "start", False),
    "Llama-3.1-405B": (6, -12, "middle", False),
    "Hy3-preview": (4, -12, "middle", False),
    "Mistral-7B v0.1": (0, 14, "middle", False),
    "DeepSeek-V4-Flash": (8, 33, "end", True),
    "PaLM 540B": (-7, 0, "end", False),
}
# fill and outline of each group, from what caches most to what caches least
GROUPS = {
    "own": (INK, INK),
    "fewer": (ACCENT, ACCENT),
    "window": ("none", ACCENT),
    "latent": (ACCENT_2, ACCENT_2),
    "state": ("none", ACCENT_2),
}


def height(value: float) -> float:
    """Return where a number of KiB is on the logarithmic axis."""
    return TOP + TALL * (1 - math.log(value / LEAST) / math.log(MOST / LEAST))


def wide(year: int) -> int:
    """Return how wide a year is drawn."""
    return EARLY if year < CROWDED else LATE


def across(year: int, lane: int = 2) -> float:
    """Return where a group stands in its year, and the middle if none is named."""
    before = sum(map(wide, range(YEARS[0], year)))
    aside = (lane - 2) * 0.19 if year >= CROWDED or lane == 2 else (lane - 0.5) * 0.3
    return LEFT + before + wide(year) * (0.5 + aside)


def _dot(x: float, y: float, name: str, **more: object) -> drawsvg.Rectangle:
    fill, stroke = GROUPS[name]
    look = {"fill": fill, "stroke": stroke, "stroke_width": 1.25, "rx": SIDE / 2}
    return drawsvg.Rectangle(x - SIDE / 2, y - SIDE / 2, SIDE, SIDE, **look, **more)


def place(name: str) -> tuple[float, float]:
    """Return where a model's dot stands: those of one group, year and value side by side."""

    def key(model: KVModel) -> tuple[int, str, float]:
        return model.year, group(model), kib(model, LENGTHS[-1])

    model = MODELS[name]
    same = [other for other, m in MODELS.items() if key(m) == key(model)]
    x = across(model.year, list(GROUPS).index(group(model)))
    return x + BESIDE * (same.index(name) - (len(same) - 1) / 2), height(key(model)[-1])


def _name(drawing: drawsvg.Drawing, name: str, x: float, y: float) -> None:
    aside, below, anchor, led = NAMED[name]
    if led:
        line = {"stroke": INK, "stroke_width": 1, "stroke_opacity": 0.6}
        drawing.append(drawsvg.Line(x, y + SIDE / 2, x, y + below - 8, **line))
    write(drawing, name, x + aside, y + below, 11, text_anchor=anchor)


def moved(language: str) -> str:
    """Draw each model's KiB a token at 128k in its year."""
    text = texts(__file__, "moved", language)
    end = LEFT + sum(map(wide, YEARS))
    drawing = canvas(end, TOP + TALL + 40)
    for row, name in enumerate(GROUPS):
        drawing.append(_dot(6, 8 + 17 * row, name))
        write(drawing, text["groups"][row], 16, 8 + 17 * row, 12, text_anchor="start")
    write(drawing, text["y"], 0, TOP - 16, 12, text_anchor="start")
    for tick in TICKS:
        y = height(tick)
        line = {"stroke": INK, "stroke_opacity": 0.2, "stroke_width": 1, "data_tick": tick}
        drawing.append(drawsvg.Line(LEFT, y, end, y, **line))
        write(drawing, f"{tick:,}", LEFT - 6, y, 12, text_anchor="end")
    for year in YEARS:
        x = across(year) - wide(year) / 2
        line = {"stroke": INK, "stroke_opacity": 0.12, "stroke_width": 1}
        drawing.append(drawsvg.Line(x, TOP, x, TOP + TALL, **line))
    for year in YEARS:
        write(drawing, f"{year % 100}", across(year), TOP + TALL + 14, 12)
    for name, model in MODELS.items():
        x, y = place(name)
        if name in NAMED:
            _name(drawing, name, x, y)
        drawing.append(_dot(x, y, group(model), data_model=name))
    write(drawing, text["x"], (LEFT + end) / 2, TOP + TALL + 32, 12)
    newest = [kib(model, LENGTHS[-1]) for model in MODELS.values() if model.year == YEARS[-1]]
    ends = {"least": digits(min(newest)), "most": digits(max(newest)), "year": YEARS[-1]}
    desc = text["desc"].format(count=len(MODELS), **ends)
    return finish(drawing.as_svg(header=""), f"{KEY}-moved", text["title"], desc, zoom=1.5)


FIGURES: dict[str, Callable[[str], str]] = {"moved": moved}
