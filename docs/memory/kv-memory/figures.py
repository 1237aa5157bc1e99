"""Figures of the chapter on the KV memory of real models."""

import math
from collections.abc import Callable

import drawsvg
import matplotlib.style

from attn_docs import kv_cache_bytes
from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SOFT,
    canvas,
    finish,
    write,
)
from docs._kit.text import texts

from .tables import CARDS, CONVERSATION, MODELS, SHOWN_CARDS, gib, per_token, size

KEY = "memory-kv-memory"
BARS = (
    "GPT-3 175B",
    "Llama-2-7B",
    "Gemma-3-27B",
    "Llama-3.1-70B",
    "GPT-2 XL",
    "Qwen3-32B",
    "Llama-3.1-8B",
    "gpt-oss-120b",
    "DeepSeek-V3",
    "GPT-2 124M",
    "Gemma-4-E2B",
    "Falcon-7B",
)
ALIKE = ("Llama-3.1-70B", "GPT-2 XL")  # the text compares the two
KINDS = {"multi-head": INK, "fewer": ACCENT, "latent": ACCENT_2}
LEAST, MOST = 4, 8192  # KiB, the ends of the scale
TICKS = (4, 16, 64, 256, 1024, 4096)  # KiB
DOT_LEFT, DOT_WIDE = 126, 236
LINES = {
    "Llama-2-7B": (chart.INK, "-"),
    "Llama-3.1-8B": (chart.ACCENT, "-"),
    "Gemma-3-27B": (chart.ACCENT_2, "-"),
    "Mistral-7B v0.1": (chart.INK, "--"),
}
# models whose windows get full, and where the words on that stand (tokens, GiB)
FULL_AT = {"Gemma-3-27B": (290, 2.2), "Mistral-7B v0.1": (4600, 0.25)}
LENGTHS = tuple(2**power for power in range(8, 18))
CARD_BARS = (
    "Llama-2-7B",
    "Llama-3.1-8B",
    "gpt-oss-20b",
    "Gemma-3-27B",
    "Qwen3-32B",
    "Llama-3.1-70B",
)
FULL = 180  # GiB, the end of the scale
LEFT, WIDE = 100, 290


def kind(name: str) -> str:
    """Return how a model caches its keys and values."""
    config = MODELS[name].config
    if config.latent_layers:
        return "latent"
    return "multi-head" if config.num_kv_heads == MODELS[name].num_heads else "fewer"


def place(value: float) -> float:
    """Return where a number of KiB is on the logarithmic axis."""
    return DOT_LEFT + DOT_WIDE * math.log(value / LEAST) / math.log(MOST / LEAST)


def _dot(x: float, y: float, **attributes: object) -> drawsvg.Rectangle:
    return drawsvg.Rectangle(x - 5, y - 5, 10, 10, rx=5, **attributes)


def token(language: str) -> str:
    """Draw the bytes of one token as dots on a logarithmic axis, the largest first."""
    text = texts(__file__, "token", language)
    top, bottom = 84, 84 + 22 * len(BARS)
    drawing = canvas(396, bottom + 48)
    for row, (name, colour) in enumerate(KINDS.items()):
        drawing.append(_dot(6, 8 + 20 * row, fill=colour))
        write(drawing, text[name], 18, 8 + 20 * row, 12, text_anchor="start")
    for tick in TICKS:
        x = place(tick)
        line = {"stroke": INK, "stroke_opacity": 0.2, "stroke_width": 1, "data_tick": tick}
        drawing.append(drawsvg.Line(x, top - 6, x, bottom, **line))
        write(drawing, f"{tick:,}", x, bottom + 12, 12)
    write(drawing, text["axis"], DOT_LEFT + DOT_WIDE / 2, bottom + 34, 12)
    for row, name in enumerate(BARS):
        value, y = per_token(MODELS[name]) / 1024, top + 7 + 22 * row
        group = drawsvg.Group(data_model=name)
        bold = {"font_weight": "bold"} if name in ALIKE else {}
        write(group, name, 0, y, 12, text_anchor="start", **bold)
        group.append(_dot(place(value), y, fill=KINDS[kind(name)], data_dot=name))
        write(group, f"{value:,.4g}", place(value) + 10, y, 12, text_anchor="start", **bold)
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=name, value=per_token(MODELS[name]) / 1024, kind=text[kind(name)])
        for name in BARS
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-token", text["title"], desc)


def curve(name: str) -> list[float]:
    """Return a model's KV cache in GiB at each of the lengths."""
    return [kv_cache_bytes(MODELS[name].config, length) / 2**30 for length in LENGTHS]


def context(language: str) -> str:
    """Draw memory against context length for a handful of models, both scales logarithmic."""
    text = texts(__file__, "context", language)
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 300)
        axes = chart.panel(figure, 40, 22, 186, 244)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ends = {name: math.log10(curve(name)[-1]) for name in LINES}
        places, above = {}, math.inf
        for name in sorted(ends, key=ends.get, reverse=True):  # labels a line apart
            places[name] = above = min(ends[name], above - 0.24)
        for name, (colour, dash) in LINES.items():
            axes.plot(LENGTHS, curve(name), color=colour, linestyle=dash, gid=f"part:{name}")
            end = (LENGTHS[-1], curve(name)[-1]), (LENGTHS[-1] * 1.5, 10 ** places[name])
            leader = {"clip_on": False, "color": colour, "linestyle": dash, "linewidth": 1}
            axes.plot(*zip(*end, strict=True), **leader, gid=f"part:{name}-leader")
            axes.text(LENGTHS[-1] * 1.65, 10 ** places[name], name, va="center")
        for name, (x, y) in FULL_AT.items():
            config = MODELS[name].config
            tokens, cache = config.window, kv_cache_bytes(config, config.window) / 2**30
            mark = {"marker": "o", "markersize": 6, "linestyle": "none", "color": LINES[name][0]}
            axes.plot([tokens], [cache], **mark, gid=f"part:{name}-full")
            axes.text(x, y, text["full"].format(tokens=tokens), va="center")
        axes.set_xlim(LENGTHS[0], LENGTHS[-1])
        axes.set_ylim(0.005, 100)
        ticks = {256: "256", 2048: "2k", 16384: "16k", 131072: "128k"}
        chart.set_ticks(axes, "x", ticks)
        chart.set_ticks(axes, "y", {0.01: "0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100"})
        figure.text(0.02, 0.965, text["y"], va="center")
        figure.text(226 / 340, 0.02, text["x"], ha="right", va="center")
        rows = text["comma"].join(f"{name} {curve(name)[-1]:.3g} GiB" for name in LINES)
        desc = text["desc"].format(rows=rows)
        return chart.finish(figure, f"{KEY}-context", text["title"], desc)


def beside(name: str) -> tuple[float, float]:
    """Return weights as published and KV cache at full length, in GiB."""
    model = MODELS[name]
    return model.weight_bytes / 2**30, kv_cache_bytes(model.config, model.context) / 2**30


def cards(language: str) -> str:
    """Draw weights and cache as bars against the memory that CUDA reports of cards."""
    text = texts(__file__, "cards", language)
    height = 90 + 26 * len(CARD_BARS)
    drawing = canvas(LEFT + WIDE + 4, height)
    fills = {"weights": {"fill": SOFT, "stroke": INK, "stroke_opacity": 0.5}}
    fills["cache"] = {"fill": ACCENT}
    for row, name in enumerate(("weights", "cache")):
        drawing.append(drawsvg.Rectangle(1, 3 + 20 * row, 12, 12, **fills[name]))
        write(drawing, text[name], 20, 9 + 20 * row, 12, text_anchor="start")
    for card in SHOWN_CARDS:
        memory = CARDS[card].memory / 2**30
        x = LEFT + WIDE * memory / FULL
        line = {"stroke": INK, "stroke_width": 1, "stroke_dasharray": "3 3", "data_card": card}
        drawing.append(drawsvg.Line(x, 82, x, height, **line))
        write(drawing, card, x, 57, 12)
        write(drawing, f"{memory:.3g} GiB", x, 72, 12)
    for row, name in enumerate(CARD_BARS):
        group, top = drawsvg.Group(data_model=name), 90 + 26 * row
        write(group, name, 0, top + 8, 12, text_anchor="start")
        left = LEFT
        for part, value in zip(("weights", "cache"), beside(name), strict=True):
            width = WIDE * value / FULL
            bar = {**fills[part], "data_bar": part}
            group.append(drawsvg.Rectangle(left, top, width, 16, **bar))
            left += width
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(
            name=name,
            weight=beside(name)[0],
            cache=beside(name)[1],
            context=MODELS[name].context,
        )
        for name in CARD_BARS
    )
    lines = (f"{CARDS[card].memory / 2**30:.3g} GiB ({card})" for card in SHOWN_CARDS)
    desc = text["desc"].format(cards=text["and"].join(lines), rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-cards", text["title"], desc)


USERS_WIDE, USERS_TOP = 336, 62


def users(language: str) -> str:
    """Draw a card's memory as one bar: the weights, and a block for each user that fits."""
    text, card = texts(__file__, "users", language), CARDS["RTX 4090"].memory
    model = MODELS["Llama-3.1-8B"]
    each = kv_cache_bytes(model.config, CONVERSATION)
    count = (card - model.weight_bytes) // each
    scale = USERS_WIDE / (card + each)  # the user who does not fit is drawn too
    words = {"weights": gib(model.weight_bytes), "each": size(each), "card": gib(card)}
    words |= {"count": count, "tokens": f"{CONVERSATION:,}"}
    drawing = canvas(USERS_WIDE + 4, 122)
    wide = scale * model.weight_bytes
    look = {"fill": SOFT, "stroke": INK, "stroke_opacity": 0.5, "data_part": "weights"}
    drawing.append(drawsvg.Rectangle(1, USERS_TOP, wide, 30, **look))
    write(drawing, text["weights"].format(**words), wide / 2, USERS_TOP + 15, 12)
    for user in range(count + 1):
        look = {"fill": ACCENT} if user < count else {"fill": "none", "stroke_dasharray": "3 3"}
        place = (1 + wide + scale * each * user, USERS_TOP, scale * each - 2, 30)
        part = "user" if user < count else "no-room"
        drawing.append(drawsvg.Rectangle(*place, stroke=INK, data_part=part, **look))
    end = 1 + scale * card
    line = {"stroke": INK, "stroke_width": 1.25, "data_part": "card"}
    drawing.append(drawsvg.Line(end, 22, end, USERS_TOP + 40, **line))
    write(drawing, text["card"].format(**words), end, 12, 12, text_anchor="end")
    above = {"text_anchor": "middle"}
    write(drawing, text["each"].format(**words), wide + scale * each * count / 2, 46, 12, **above)
    write(drawing, text["tenth"], USERS_WIDE, USERS_TOP + 52, 12, text_anchor="end")
    desc = text["desc"].format(**words)
    return finish(drawing.as_svg(header=""), f"{KEY}-users", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "users": users,
    "token": token,
    "context": context,
    "cards": cards,
}
