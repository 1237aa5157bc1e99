"""Figures of the chapter on the KV cache."""

import math
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import KVCache, MultiHeadAttention, causal_mask
from docs._kit import chart
from docs._kit.draw import SHADE, canvas, cells, finish, write
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import LENGTHS, WAYS

KEY = "memory-kv-cache"
WORDS = 5
CHUNKS = {"whole": (5,), "decode": (2, 1, 1, 1), "chunks": (2, 2, 1)}
RING, STEPS = 4, 8
ALIGNED = ((2, 4), (4, 2))


def when() -> dict[str, Tensor]:
    """Return in which step each score is made, 0 for never; without a cache, how often."""
    torch.manual_seed(0)
    attend, x = MultiHeadAttention(4, 1), torch.randn(1, WORDS, 4)
    anew = torch.zeros(WORDS, WORDS, dtype=torch.int64)
    for end in range(1, WORDS + 1):
        _, weights = attend(x[:, :end], is_causal=True, need_weights=True)
        anew[:end, :end] += (weights[0, 0] > 0).long()
    made = {"anew": anew}
    for name, sizes in CHUNKS.items():
        cache, grid = KVCache(1, 1, 4, WORDS), torch.zeros_like(anew)
        for step, new in enumerate(x.split(sizes, dim=1), 1):
            start = cache.length
            _, weights = attend(new, is_causal=True, cache=cache, need_weights=True)
            grid[start : cache.length, : cache.length] = step * (weights[0, 0] > 0)
        made[name] = grid
    return made


def steps(language: str) -> str:
    """Draw in which step each score is made, for several ways to cut the text."""
    text, size = texts(__file__, "when", language), 26
    drawing, found = canvas(340, 398), when()
    for index, (name, grid) in enumerate(found.items()):
        left, top = 180 * (index % 2) + 14, 204 * (index // 2) + 62
        group = drawsvg.Group(data_way=name)
        title, note = text[name]
        write(group, title, left, top - 52, 13, text_anchor="start", font_weight="bold")
        write(group, note, left, top - 34, 12, text_anchor="start")
        write(group, text["query"], left, top - 12, 12, text_anchor="start")
        write(group, text["key"], left + WORDS * size, top - 12, 12, text_anchor="end")
        most = int(grid.max())
        shades = [[SHADE * int(cell) / most for cell in row] for row in grid]
        cells(group, shades, left, top, size, size)
        for row, line in enumerate(grid.tolist()):
            for column, cell in enumerate(line):
                if cell:
                    middle = (left + (column + 0.5) * size, top + (row + 0.5) * size)
                    write(group, str(cell), *middle, 12)
        drawing.append(group)
    said = {name: text["comma"].join(map(str, grid[:, 0].tolist())) for name, grid in found.items()}
    desc = text["desc"].format(**said)
    return finish(drawing.as_svg(header=""), f"{KEY}-steps", text["title"], desc)


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
    width, height, left, top = 40, 24, 92, 24
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
    """Return the matrices of PyTorch's `is_causal` and of the alignment at the end."""
    found = {}
    for n, m in ALIGNED:
        zeros, unit = torch.zeros(1, 1, n, m), torch.eye(m).expand(1, 1, m, m)
        weights = F.scaled_dot_product_attention(zeros, unit, unit, is_causal=True)
        found[f"first {n} {m}"] = (weights[0, 0] > 0).int()
        found[f"last {n} {m}"] = causal_mask(n, m, offset=m - n).int()
    return found


def alignment(language: str) -> str:
    """Draw both alignments for fewer queries than keys, and for more."""
    text, size = texts(__file__, "alignment", language), 26
    drawing, found = canvas(340, 270), alignments()
    for index, (name, matrix) in enumerate(found.items()):
        left, top = 180 * (index % 2) + 4, (64, 158)[index // 2]
        group = drawsvg.Group(data_matrix=name)
        title, note = text[name.split()[0]]
        if index < 2:
            write(group, title, left, 10, 13, text_anchor="start", font_weight="bold")
            write(group, note, left, 29, 12, text_anchor="start")
        axes = f"{text['query']}  {text['key']}"
        write(group, axes, left, top - 12, 12, text_anchor="start")
        cells(group, (SHADE * matrix).tolist(), left, top, size, size)
        for row, line in enumerate(matrix.tolist()):
            for column, cell in enumerate(line):
                middle = (left + (column + 0.5) * size, top + (row + 0.5) * size)
                write(group, str(cell), *middle, 12)
        drawing.append(group)
    comma, space = text["join"]
    said = {
        name: comma.join(space.join(map(str, row)) for row in matrix.tolist())
        for name, matrix in found.items()
    }
    desc = text["desc"].format(**said)
    return finish(drawing.as_svg(header=""), f"{KEY}-alignment", text["title"], desc)


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
        figure = chart.new_figure(384, 280)
        axes = chart.panel(figure, 58, 26, 188, 210)
        figure.text(0, 1 - 6 / 280, text["y"], weight="bold", va="top")
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
        heights = _apart(ends, 16 / 210 * (high - low))
        for name, look in _LOOK.items():
            marks = {"markersize": 6, "markeredgewidth": 0, "linewidth": 1.75}
            axes.plot(LENGTHS, found[name], **look, **marks, gid=f"part:{name}")
            place = (1.75 * LENGTHS[-1], 10 ** heights[name])
            axes.text(*place, text[name], va="center", gid=f"part:{name}-label")
            ends_at = (1.1 * LENGTHS[-1], found[name][-1]), (1.65 * LENGTHS[-1], place[1])
            leader = {"color": look["color"], "linewidth": 1, "clip_on": False}
            axes.plot(*zip(*ends_at, strict=True), **leader, gid=f"part:{name}-leader")
        figure.text(246 / 384, 6 / 280, text["x"], ha="right", va="baseline")
        semicolon, comma = text["join"]
        rows = semicolon.join(
            text["row"].format(name=text[name], values=comma.join(f"{v:.2f}×" for v in found[name]))
            for name in _LOOK
        )
        desc = text["desc"].format(first=LENGTHS[0], rows=rows)
        return chart.finish(figure, f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "steps": steps,
    "ring": ring,
    "alignment": alignment,
    "measured": measured,
}
