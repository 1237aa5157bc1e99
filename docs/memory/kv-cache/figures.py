"""Figures of the chapter on the KV cache."""

import math
from collections.abc import Callable
from typing import NamedTuple

import drawsvg
import matplotlib.style
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import KVCache, MultiHeadAttention, causal_mask
from attn_docs.sentence import WORDS
from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, INK, SHADE, arrow, canvas, cells, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import LENGTHS, WAYS

KEY = "memory-kv-cache"
LANES = {"anew": (3, 1, 1), "decode": (3, 1, 1), "chunks": (2, 1, 1, 1)}
PROMPT = 3  # how many tokens are given
RING, STEPS = 4, 8
ALIGNED = {"prefill": (3, 3), "chunk": (2, 5), "decode": (1, 5)}  # queries, keys
LEFT = {"prefill": 48, "chunk": 174, "decode": 314}


class Step(NamedTuple):
    """One call of a layer: which scores it makes, and whose keys it computes and reads."""

    first: int  # the first token that goes in
    scores: list[list[bool]]  # a row for each token that goes in, a column for each key
    computed: int
    read: int


def lanes() -> dict[str, list[Step]]:
    """Return the calls of a layer for the sentence, with and without a cache."""
    torch.manual_seed(0)
    attend, x = MultiHeadAttention(4, 1), torch.randn(1, len(WORDS), 4)
    found: dict[str, list[Step]] = {}
    for name, sizes in LANES.items():
        cache, steps, end = KVCache(1, 1, 4, len(WORDS)), [], 0
        for size in sizes:
            start, end = (0 if name == "anew" else end), end + size
            held = None if name == "anew" else cache
            given = x[:, start:end]
            _, weights = attend(given, is_causal=True, cache=held, need_weights=True)
            read = weights.size(-1) - given.size(1)
            steps.append(Step(start, (weights[0, 0] > 0).tolist(), given.size(1), read))
        found[name] = steps
    return found


def _scores(group: drawsvg.Group, step: Step, left: float, top: float, size: float) -> None:
    """Draw the scores of a call: filled where made, in another colour where the key was read."""
    fills = {"none": "none", "read": ACCENT_2, "computed": ACCENT}
    cells_of = drawsvg.Group(fill_opacity=0.75, stroke=INK, stroke_opacity=0.35)
    for row, line in enumerate(step.scores):
        for column in range(len(WORDS)):
            made = column < len(line) and line[column]
            kind = "none" if not made else "read" if column < step.read else "computed"
            place = (left + column * size, top + row * size, size, size)
            cells_of.append(drawsvg.Rectangle(*place, data_kind=kind, fill=fills[kind]))
    group.append(cells_of)


def timeline(language: str) -> str:
    """Draw the calls of a layer from left to right: what each computes, and what it reads."""
    text, size, pitch = texts(__file__, "timeline", language), 16, 98
    drawing, top = canvas(392, 446), 34
    for colour, name, left in ((ACCENT, "computed", 0), (ACCENT_2, "read", 174)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour, fill_opacity=0.75))
        write(drawing, text[name], left + 18, 10, 12, text_anchor="start")
    for name, steps in lanes().items():
        total = text["total"].format(name=text[name], keys=sum(step.computed for step in steps))
        write(drawing, total, 0, top + 4, 13, text_anchor="start", font_weight="bold")
        for index, step in enumerate(steps):
            left = index * pitch
            group = drawsvg.Group(data_way=name, data_step=index)
            phase = text["phases"][step.first + step.computed > PROMPT]
            phase = text["again"] if name == "anew" and index else phase
            write(group, phase, left, top + 24, 12, text_anchor="start")
            _scores(group, step, left, top + 36, size)
            below = top + 36 + len(step.scores) * size + 12
            new = " ".join(WORDS[step.first : step.first + step.computed])
            new = new if len(new) < 15 else text["all"].format(n=step.computed)
            write(group, new, left, below, 12, text_anchor="start", font_style="italic")
            said = text["says"].format(computed=step.computed, read=step.read)
            write(group, said, left, below + 16, 11, text_anchor="start")
            drawing.append(group)
        top += 80 + max(len(step.scores) for step in steps) * size
    arrow(drawing, (0, 436), (386, 436))
    write(drawing, text["time"], 386, 424, 12, text_anchor="end")
    said = {
        name: text["join"].join(f"{step.computed} + {step.read}" for step in steps)
        for name, steps in lanes().items()
    }
    desc = text["desc"].format(**said)
    return finish(drawing.as_svg(header=""), f"{KEY}-timeline", text["title"], desc, zoom=1.1)


def held() -> list[list[int | None]]:
    """Return the word that each slot of a ring holds after each step, None for none yet."""
    cache, rows = KVCache(1, 1, 1, STEPS, window=RING), []
    for t in range(STEPS):
        cache.update(torch.full((1, 1, 1, 1), t + 1.0), torch.zeros(1, 1, 1, 1))
        rows.append([int(number) - 1 if number else None for number in cache.key.flatten()])
    return rows


def ring(language: str) -> str:
    """Draw what the slots of a ring hold from step to step."""
    text, rows = texts(__file__, "ring", language), held()
    width, height, left, top = 40, 22, 112, 24
    drawing = canvas(380, top + STEPS * height + 4)
    for slot in range(RING):
        write(drawing, text["slot"].format(slot=slot), left + (slot + 0.5) * width, 10, 12)
    for t, row in enumerate(rows):
        y = top + (t + 0.5) * height
        group = drawsvg.Group(data_step=t)
        write(group, text["word"].format(t=t), left - 8, y, 12, text_anchor="end")
        shades = [[SHADE if word == t else 0 for word in row]]
        cells(group, shades, left, top + t * height, width, height)
        for slot, word in enumerate(row):
            shown = text["empty"] if word is None else str(word)
            write(group, shown, left + (slot + 0.5) * width, y, 12)
        if t >= RING:
            gone = text["first"].format(first=t - RING)
            write(group, gone, left + RING * width + 8, y, 12, text_anchor="start")
        drawing.append(group)
    said = (" ".join(text["empty"] if word is None else str(word) for word in row) for row in rows)
    desc = text["desc"].format(rows=text["comma"].join(said))
    return finish(drawing.as_svg(header=""), f"{KEY}-ring", text["title"], desc)


def alignments() -> dict[str, Tensor]:
    """Return who sees what with PyTorch's `is_causal`, and with the alignment of a cache."""
    found = {}
    for name, (n, m) in ALIGNED.items():
        zeros, unit = torch.zeros(1, 1, n, m), torch.eye(m).expand(1, 1, m, m)
        weights = F.scaled_dot_product_attention(zeros, unit, unit, is_causal=True)
        found[f"upper {name}"] = (weights[0, 0] > 0).int()
        found[f"lower {name}"] = causal_mask(n, m, offset=m - n).int()
    return found


def alignment(language: str) -> str:
    """Draw both alignments for a prefill, a chunk and a decode step."""
    text, size = texts(__file__, "alignment", language), 16
    drawing, found = canvas(400, 218), alignments()
    for name, matrix in found.items():
        kind, phase = name.split()
        (n, m), left = matrix.shape, LEFT[phase]
        top = {"upper": 0, "lower": 112}[kind]
        group = drawsvg.Group(data_matrix=name)
        if phase == "prefill":
            write(drawing, text[kind], 0, top + 10, 13, text_anchor="start", font_weight="bold")
        write(group, text[phase], left, top + 32, 12, text_anchor="start")
        cells(group, (SHADE * matrix).tolist(), left, top + 44, size, size)
        for row, line in enumerate(matrix.tolist()):
            y = top + 44 + (row + 0.5) * size
            write(group, WORDS[m - n + row], left - 5, y, 11, text_anchor="end")
            for column, cell in enumerate(line):
                write(group, str(cell), left + (column + 0.5) * size, y, 11)
        drawing.append(group)
    comma, space = text["join"]
    said = {
        name.replace(" ", "_"): comma.join(space.join(map(str, row)) for row in matrix.tolist())
        for name, matrix in found.items()
    }
    desc = text["desc"].format(**said)
    return finish(drawing.as_svg(header=""), f"{KEY}-alignment", text["title"], desc, zoom=1.15)


def times() -> dict[str, list[float]]:
    """Return each way's measured time at each length, over the cache's at the shortest."""
    found = load(__file__)["per_word"]
    return {way: [found("time", way=way, words=n) for n in LENGTHS] for way in WAYS}


_LOOK = {
    "anew": {"color": chart.INK, "marker": "^", "linestyle": (0, (1, 2))},
    "repeated": {"color": chart.ACCENT_2, "marker": "D", "linestyle": (0, (6, 2))},
    "concatenated": {"color": chart.ACCENT_2, "marker": "s", "linestyle": (0, (3, 2))},
    "cached": {"color": chart.ACCENT, "marker": "o", "linestyle": "solid"},
    "read": {"color": chart.INK, "marker": "v", "linestyle": "solid"},
}


def _apart(places: dict[str, float], least: float) -> dict[str, float]:
    """Move labels up until none is nearer than `least` to the one below it."""
    moved: dict[str, float] = {}
    for name in sorted(places, key=lambda name: places[name]):
        below = max(moved.values(), default=-math.inf)
        moved[name] = max(places[name], below + least)
    return moved


def measured(language: str) -> str:
    """Chart the stored measurement."""
    text, found = texts(__file__, "measured", language), times()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(384, 250)
        axes = chart.panel(figure, 58, 26, 188, 180)
        figure.text(0, 1 - 6 / 250, text["y"], weight="bold", va="top")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.85 * LENGTHS[0], 1.15 * LENGTHS[-1])
        chart.set_ticks(axes, "x", {n: f"{n:,}" for n in LENGTHS})
        low = math.floor(math.log10(min(map(min, found.values()))))
        top = 1.3 * max(map(max, found.values()))
        high = math.log10(top)
        axes.set_ylim(10.0**low, top)
        shown = {
            10.0**p: f"{10**p:,}×" if p >= 0 else f"{10.0**p:g}×"
            for p in range(low, math.floor(high) + 1)
        }
        chart.set_ticks(axes, "y", shown)
        ends = {name: math.log10(values[-1]) for name, values in found.items()}
        heights = _apart(ends, 16 / 180 * (high - low))
        for name, look in _LOOK.items():
            marks = {"markersize": 6, "markeredgewidth": 0, "linewidth": 1.75}
            axes.plot(LENGTHS, found[name], **look, **marks, gid=f"part:{name}")
            place = (1.75 * LENGTHS[-1], 10 ** heights[name])
            axes.text(*place, text[name], va="center", gid=f"part:{name}-label")
            ends_at = (1.1 * LENGTHS[-1], found[name][-1]), (1.65 * LENGTHS[-1], place[1])
            leader = {"color": look["color"], "linewidth": 1, "clip_on": False}
            axes.plot(*zip(*ends_at, strict=True), **leader, gid=f"part:{name}-leader")
        figure.text(246 / 384, 6 / 250, text["x"], ha="right", va="baseline")
        semicolon, comma = text["join"]
        rows = semicolon.join(
            text["row"].format(name=text[name], values=comma.join(f"{v:.2f}×" for v in found[name]))
            for name in _LOOK
        )
        desc = text["desc"].format(first=LENGTHS[0], rows=rows)
        return chart.finish(figure, f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "timeline": timeline,
    "ring": ring,
    "alignment": alignment,
    "measured": measured,
}
