"""The figures of the chapter on models: caches as a text grows, and a token at 128k by year."""

import math
from collections.abc import Callable

import drawsvg

from attn_docs import KVModel, kv_cache_bytes
from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, finish, write
from docs._kit.text import texts

from .tables import LENGTHS, MODELS, digits, group, kib

KEY = "checkpoints-models"
YEARS = range(2017, 2027)
LEAST, MOST = 0.95, 6000.0  # KiB, the ends of the scale
TICKS = (4, 16, 64, 256, 1024, 4096)
LEFT, TOP, TALL = 46, 92, 236
EARLY, LATE, CROWDED = 24, 50, 2023  # width of a year before the first with many models, and after
SIDE = 6  # of a dot
BESIDE = 5.5  # from dot to dot of one group, year and value
# where a model's name stands beside its dot, and whether a line leads to it
NAMED = {
    "GPT-3 175B": (-8, 0, "end", False),
    "Llama-3.1-405B": (0, -11, "middle", False),
    "Mistral-7B v0.1": (0, 13, "middle", False),
    "Gemma-3-1B": (0, 13, "middle", False),
    "Gemma-4-E2B": (12, 37, "end", True),
    "DeepSeek-V4-Flash": (6, 52, "end", True),
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
        x, y = (6, 8 + 18 * row) if row < 3 else (end / 2 + 6, 8 + 18 * (row - 3))
        drawing.append(_dot(x, y, name))
        write(drawing, text["groups"][row], x + 10, y, 12, text_anchor="start")
    write(drawing, text["y"], 0, TOP - 18, 12, text_anchor="start")
    for tick in TICKS:
        y = height(tick)
        line = {"stroke": INK, "stroke_opacity": 0.2, "stroke_width": 1, "data_tick": tick}
        drawing.append(drawsvg.Line(LEFT, y, end, y, **line))
        write(drawing, f"{tick:,}", LEFT - 6, y, 12, text_anchor="end")
    for year in YEARS:
        shown = str(year) if year >= CROWDED else f"'{year % 100}"
        write(drawing, shown, across(year), TOP + TALL + 14, 12)
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


# the five models of core.py: colour, dashes, and how far below the line's end the name stands
CURVES = {
    "Llama-3.1-8B": (INK, "", -6),
    "gpt-oss-20b": (ACCENT, "", -6),
    "DeepSeek-V3.2": (ACCENT_2, "", 2),
    "Qwen3-Next-80B": (INK, "5 4", 8),
    "DeepSeek-V4-Flash": (ACCENT_2, "5 4", 0),
}
DOUBLINGS = (7, 20)  # from 128 tokens to a million
BYTES = (21, 38)  # from 2 MiB to 256 GiB, as powers of two
X_TICKS = {7: "128", 10: "1k", 13: "8k", 16: "64k", 19: "512k"}
Y_TICKS = {22: "4 MiB", 26: "64 MiB", 30: "1 GiB", 34: "16 GiB", 38: "256 GiB"}
PLOT = (58, 30, 208, 220)  # left, top, width and height


def at_length(doublings: float) -> float:
    """Return where so many doublings of one token are on the axis of lengths."""
    left, _, width, _ = PLOT
    return left + width * (doublings - DOUBLINGS[0]) / (DOUBLINGS[1] - DOUBLINGS[0])


def at_bytes(doublings: float) -> float:
    """Return where so many doublings of one byte are on the axis of bytes."""
    _, top, _, tall = PLOT
    return top + tall * (BYTES[1] - doublings) / (BYTES[1] - BYTES[0])


def length(language: str) -> str:
    """Draw the whole cache of five models against the length of the text."""
    text = texts(__file__, "length", language)
    left, top, width, tall = PLOT
    drawing = canvas(394, top + tall + 40)
    write(drawing, text["y"], 0, 8, 12, text_anchor="start")
    for power, shown in Y_TICKS.items():
        y = at_bytes(power)
        line = {"stroke": INK, "stroke_opacity": 0.2, "stroke_width": 1, "data_tick": power}
        drawing.append(drawsvg.Line(left, y, left + width, y, **line))
        write(drawing, shown, left - 6, y, 12, text_anchor="end")
    for power, shown in X_TICKS.items():
        write(drawing, shown, at_length(power), top + tall + 14, 12)
    write(drawing, text["x"], left + width / 2, top + tall + 32, 12)
    steps = [DOUBLINGS[0] + k / 2 for k in range(2 * (DOUBLINGS[1] - DOUBLINGS[0]) + 1)]
    for name, (colour, dashes, below) in CURVES.items():
        config = MODELS[name].config
        taken = [math.log2(kv_cache_bytes(config, round(2**step))) for step in steps]
        points = [v for s, t in zip(steps, taken, strict=True) for v in (at_length(s), at_bytes(t))]
        look = {"stroke": colour, "stroke_width": 2, "stroke_dasharray": dashes or "none"}
        drawing.append(drawsvg.Lines(*points, fill="none", data_model=name, **look))
        y = at_bytes(taken[-1]) + below
        write(drawing, name, left + width + 6, y, 12, text_anchor="start")
    rows = text["comma"].join(
        f"{name}: {', '.join(_taken(name, n) for n in LENGTHS)}" for name in CURVES
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-length", text["title"], desc, zoom=1.5)


def _taken(name: str, tokens: int) -> str:
    return f"{kv_cache_bytes(MODELS[name].config, tokens) / 2**20:,.0f} MiB"


FIGURES: dict[str, Callable[[str], str]] = {"length": length, "moved": moved}
