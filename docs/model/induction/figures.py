"""Figures of the chapter on induction heads."""

from collections.abc import Callable

import drawsvg
import matplotlib.style
from torch import Tensor

from attn_docs.model.induction import SYMBOLS
from attn_docs.model.induction_circuits import copy_circuit, match_circuit
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SHADE, arrow, canvas, cells, finish, write
from docs._kit.measured import load
from docs._kit.text import Words, texts

from . import tables
from .benchmark import EARLY, EVERY, LATE, SEEDS, UNTIL

KEY = "model-induction"
MAPPED = "zqvx-zqvx-zq"  # twice, and a little more


def facts(language: str) -> str:
    """Draw what each place of a text holds after layer 1, and what layer 2 does with it."""
    text, shown, size, left = texts(__file__, "facts", language), tables.WORKED[0], 36, 78
    upper, lower, last = 40, 84, len(tables.WORKED[0]) - 1
    found = shown.index(shown[last]) + 1  # the place after the match
    drawing = canvas(400, 152)
    for name, y in (("me", upper), ("before", lower)):
        write(drawing, text[name], left - 8, y + 15, 12, text_anchor="end")
    for name, y, shift in (("me", upper, 0), ("before", lower, 1)):
        group = drawsvg.Group(data_row=name)
        for place in range(shift, len(shown)):
            symbol, lit = shown[place - shift], place == found or (place == last and not shift)
            shade = SHADE if lit else 0
            at = (left + place * size, y, size - 4, 30)
            colour = ACCENT_2 if shift else ACCENT
            group.append(drawsvg.Rectangle(*at, fill=colour, fill_opacity=shade))
            group.append(drawsvg.Rectangle(*at, fill="none", stroke=INK, stroke_opacity=0.35))
            bold = {"font_weight": "bold"} if lit else {}
            write(group, symbol, at[0] + size / 2 - 2, y + 15, 12 if shift else 15, **bold)
        drawing.append(group)
    target, asks = (left + (place + 0.5) * size - 2 for place in (found, last))
    side = left + len(shown) * size + 10
    way = (side - 13, upper + 15), (side, upper + 15), (side, 132), (target, 132)
    arrow(drawing, *way, (target, lower + 32))
    arrow(drawing, (target, upper - 1), (target, 20), (asks, 20), (asks, upper - 2))
    of = {"last": shown[last], "found": shown[found], "text": shown}
    write(drawing, text["take"].format(**of), (target + asks) / 2, 10, 12)
    write(drawing, text["search"].format(**of), (target + asks) / 2, 144, 12)
    desc = text["desc"].format(**of)
    return finish(drawing.as_svg(header=""), f"{KEY}-facts", text["title"], desc, zoom=1.3)


def worked(language: str) -> str:
    """Draw three texts with the weights of their last token, and what comes next."""
    text, size, left = texts(__file__, "worked", language), 23, 64
    drawing = canvas(400, 3 * 92 - 12)
    told = []
    for index, shown in enumerate(tables.WORKED):
        found, top = tables.seen(shown), 92 * index
        group = drawsvg.Group(data_text=shown)
        rows = [layer[-1] for layer in found.maps]
        for place, symbol in enumerate(shown):
            last = {"font_weight": "bold"} if place == len(shown) - 1 else {}
            write(group, tables.visible(symbol), left + (place + 0.5) * size, top + 10, 15, **last)
        for layer, row in enumerate(rows, 1):
            y = top + 20 + 20 * (layer - 1)
            label = text["layer"].format(layer=layer)
            write(group, label, left - 8, y + 8, 12, text_anchor="end")
            cells(group, [row], left, y, size, 16)
        likely = likeliest(found.likely[-1], text)
        next_ = text["next"].format(likely=likely)
        write(group, next_, left, top + 69, 13, text_anchor="start")
        drawing.append(group)
        first, second = (tables.most(row, shown) for row in rows)
        of = {"first": first["place"], "first_weight": first["weight"]}
        of |= {"second": second["place"], "second_weight": second["weight"]}
        told.append(text["told"].format(text=shown, likely=likely, **of))
    desc = text["desc"].format(told=text["space"].join(told))
    return finish(drawing.as_svg(header=""), f"{KEY}-worked", text["title"], desc, zoom=1.2)


def likeliest(likely: list[tuple[str, float]], text: Words) -> str:
    """Return the likeliest symbols with their probabilities."""
    return text["join"].join(f"{tables.visible(symbol)} {share:.2f}" for symbol, share in likely)


def maps(language: str) -> str:
    """Draw what both layers attend to in a text that repeats itself."""
    text, cell, top = texts(__file__, "maps", language), 13, 56
    drawing = canvas(400, top + len(MAPPED) * cell + 4)
    told = []
    for layer, (rows, left) in enumerate(zip(tables.seen(MAPPED).maps, (20, 228), strict=True)):
        middle = left + len(MAPPED) * cell / 2
        label = text["layer"].format(layer=layer + 1, what=text["what"][layer])
        write(drawing, label, middle, 8, 13, font_weight="bold")
        write(drawing, text["key"], middle, 27, 11)
        group = drawsvg.Group(data_part=f"map-{layer + 1}")
        framed(group, rows, left, top, cell)
        for place, symbol in enumerate(MAPPED):
            write(group, symbol, left + (place + 0.5) * cell, top - 9, 11)
            write(group, symbol, left - 8, top + (place + 0.5) * cell, 11)
        drawing.append(group)
        looks = (tables.most(row, MAPPED) for row in rows)
        told.append(
            text["join"].join(
                text["pair"].format(query=query, key=look["symbol"], place=look["place"])
                for query, look in zip(MAPPED, looks, strict=True)
            )
        )
    write(drawing, text["query"], 0, 27, 11, text_anchor="start")
    desc = text["desc"].format(text=MAPPED, first=told[0], second=told[1])
    return finish(drawing.as_svg(header=""), f"{KEY}-maps", text["title"], desc, zoom=1.25)


def framed(
    group: drawsvg.Group,
    rows: list[list[float]],
    left: float,
    top: float,
    cell: float,
    least: float = tables.LEAST,
) -> None:
    """Draw the cells of a square worth seeing, and a frame around all."""
    size = len(rows) * cell
    group.append(
        drawsvg.Rectangle(left, top, size, size, fill="none", stroke=INK, stroke_opacity=0.5)
    )
    for i, row in enumerate(rows):
        for j, weight in enumerate(row):
            if weight >= least:
                place = (left + j * cell, top + i * cell, cell, cell)
                opacity = round(weight, 2)
                group.append(drawsvg.Rectangle(*place, fill=ACCENT, fill_opacity=opacity))


def curve(language: str) -> str:
    """Draw accuracy and both scores against the step of training, a line a seed."""
    text, measured = texts(__file__, "curve", language), load(__file__)["curve"]
    steps = range(0, UNTIL + 1, EVERY)
    lines = {
        "accuracy": (2, {}, chart.ACCENT, "-"),
        "induction": (2, {"layer": 2}, chart.ACCENT_2, "-"),
        "previous": (2, {"layer": 1}, chart.ACCENT_2, "--"),
        "one": (1, {}, chart.INK, ":"),
    }
    ends = {}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 216)
        axes = chart.panel(figure, 34, 26, 262, 150)
        for name, (layers, of, colour, dash) in lines.items():
            quantity = "accuracy" if name == "one" else name
            for seed in SEEDS:
                told = {"layers": layers, "seed": seed, **of}
                values = [measured(quantity, step=step, **told) for step in steps]
                look = {"color": colour, "linestyle": dash, "linewidth": 2 if seed == 0 else 0.75}
                axes.plot(steps, values, gid=f"part:{name}-{seed}", **look)
                ends.setdefault(name, values[-1])
        for step in (EARLY, LATE):
            axes.axvline(step, color=chart.INK, linewidth=1, alpha=0.5)
        axes.set_xlim(0, UNTIL)
        axes.set_ylim(0, 1)
        chart.set_ticks(axes, "x", {step: str(step) for step in (0, EARLY, LATE, 200, UNTIL)})
        chart.set_ticks(axes, "y", {0: "0", 0.5: "0.5", 1: "1"})
        figure.text(0, 212 / 216, text["share"], va="top")
        figure.text(296 / 400, 6 / 216, text["steps"], ha="right", va="baseline")
        for name, value in ends.items():
            height = (216 - 26 - 150 + 150 * value) / 216
            figure.text(302 / 400, height, text[name], va="center")
        of = {
            "steps": UNTIL,
            "early": EARLY,
            "late": LATE,
            **{k: f"{v:.2f}" for k, v in ends.items()},
        }
        for name, step in (("before", EARLY), ("after", LATE)):
            of[name] = f"{measured('accuracy', layers=2, seed=0, step=step):.2f}"
        return chart.finish(figure, f"{KEY}-curve", text["title"], text["desc"].format(**of))


def circuits(language: str) -> str:
    """Draw whom layer 2 finds by what layer 1 wrote, and what it raises the logit of."""
    text, cell, top = texts(__file__, "circuits", language), 5.5, 40
    both = {
        "match": match_circuit(tables.model(), tables.DISTANCE),
        "copy": copy_circuit(tables.model()),
    }
    drawing = canvas(400, top + len(SYMBOLS) * cell + 4)
    for (name, circuit), left in zip(both.items(), (16, 218), strict=True):
        group = drawsvg.Group(data_part=name)
        framed(group, shares(circuit), left, top, cell, tables.LEAST_SHARE)
        for place in range(0, 26, 5):
            middle = (place + 0.5) * cell
            write(group, SYMBOLS[place], left + middle, top - 9, 11)
            write(group, SYMBOLS[place], left - 8, top + middle, 11)
        write(group, text[name], left, 9, 11, text_anchor="start")
        drawing.append(group)
    desc = text["desc"].format(
        distance=tables.DISTANCE, **{name: tables.own(found) for name, found in both.items()}
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-circuits", text["title"], desc, zoom=1.25)


def shares(circuit: Tensor) -> list[list[float]]:
    """Return each element as a share of the largest of all; negative ones are nothing."""
    rows: list[list[float]] = (circuit / circuit.max()).clamp(0).tolist()
    return rows


FIGURES: dict[str, Callable[[str], str]] = {
    "facts": facts,
    "worked": worked,
    "maps": maps,
    "curve": curve,
    "circuits": circuits,
}
