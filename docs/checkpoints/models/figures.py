"""The figure of the chapter on models: what a token costs at 128k, year by year."""

import math
from collections.abc import Callable

import drawsvg

from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, finish, write
from docs._kit.text import texts

from .tables import LENGTHS, MODELS, group, kib, middle

KEY = "checkpoints-models"
YEARS = range(2017, 2027)
LEAST, MOST = 3.5, 6000.0  # KiB, the ends of the scale
TICKS = (4, 16, 64, 256, 1024, 4096)
LEFT, STEP, TOP, TALL = 50, 35, 92, 230
SIDE = 7  # of a dot
# fill and outline of each group, from what caches most to what caches least
GROUPS = {
    "own": (INK, INK),
    "fewer": (ACCENT, ACCENT),
    "window": ("none", ACCENT),
    "latent": (ACCENT_2, ACCENT_2),
    "state": ("none", ACCENT_2),
}
NAMED = {"GPT-3 175B": 6, "Llama-2-7B": 6, "DeepSeek-V4-Flash": -6}


def height(value: float) -> float:
    """Return where a number of KiB is on the logarithmic axis."""
    return TOP + TALL * (1 - math.log(value / LEAST) / math.log(MOST / LEAST))


def across(year: int, lane: int) -> float:
    """Return where a group stands in its year."""
    return LEFT + STEP * (year - YEARS[0] + 0.5) + 6 * (lane - 2)


def _dot(x: float, y: float, name: str, **more: object) -> drawsvg.Rectangle:
    fill, stroke = GROUPS[name]
    look = {"fill": fill, "stroke": stroke, "stroke_width": 1.25, "rx": SIDE / 2}
    return drawsvg.Rectangle(x - SIDE / 2, y - SIDE / 2, SIDE, SIDE, **look, **more)


def moved(language: str) -> str:
    """Draw each model's KiB a token at 128k in its year, and the median of the year."""
    text = texts(__file__, "moved", language)
    wide = LEFT + STEP * len(YEARS)
    drawing = canvas(wide, TOP + TALL + 40)
    for row, name in enumerate(GROUPS):
        x, y = (6, 8 + 18 * row) if row < 3 else (wide / 2 + 6, 8 + 18 * (row - 3))  # noqa: PLR2004
        drawing.append(_dot(x, y, name))
        write(drawing, text["groups"][row], x + 10, y, 12, text_anchor="start")
    write(drawing, text["y"], 0, TOP - 18, 12, text_anchor="start")
    for tick in TICKS:
        y = height(tick)
        line = {"stroke": INK, "stroke_opacity": 0.2, "stroke_width": 1, "data_tick": tick}
        drawing.append(drawsvg.Line(LEFT, y, wide, y, **line))
        write(drawing, f"{tick:,}", LEFT - 6, y, 12, text_anchor="end")
    for year in YEARS:
        x = LEFT + STEP * (year - YEARS[0] + 0.5)
        write(drawing, str(year), x, TOP + TALL + 14, 11)
        y = height(middle(year))
        line = {"stroke": INK, "stroke_width": 1.5, "stroke_opacity": 0.6, "data_median": year}
        drawing.append(drawsvg.Line(x - 15, y, x + 15, y, **line))
    lanes = list(GROUPS)
    for name, model in MODELS.items():
        x = across(model.year, lanes.index(group(model)))
        y = height(kib(model, LENGTHS[-1]))
        drawing.append(_dot(x, y, group(model), data_model=name))
        if name in NAMED:
            side = NAMED[name]
            anchor = "start" if side > 0 else "end"
            write(drawing, name, x + side, y, 11, text_anchor=anchor)
    write(drawing, text["x"], LEFT + STEP * len(YEARS) / 2, TOP + TALL + 32, 12)
    rows = text["comma"].join(f"{year}: {middle(year):,.3g}" for year in YEARS)
    desc = text["desc"].format(rows=rows, count=len(MODELS))
    return finish(drawing.as_svg(header=""), f"{KEY}-moved", text["title"], desc, zoom=1.5)


FIGURES: dict[str, Callable[[str], str]] = {"moved": moved}
