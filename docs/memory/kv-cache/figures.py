"""Figures of the chapter on the KV cache."""

import functools
import math
from collections.abc import Callable
from pathlib import Path

import drawsvg
import matplotlib.style
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import KVCache, MultiHeadAttention, causal_mask
from docs._kit import chart
from docs._kit.draw import SHADE, canvas, cells, finish, stage_line, write

from .benchmark import LENGTHS, WAYS

KEY = "memory-kv-cache"
WORDS = 5
CHUNKS = {"whole": (5,), "decode": (2, 1, 1, 1), "chunks": (2, 2, 1)}
RING, STEPS = 4, 8
ALIGNED = ((2, 4), (4, 2))
STORED = Path(__file__).with_name("measured") / "per_word.md"


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


_WHEN = {
    "en": {
        "title": "Which scores are made when",
        "desc": (
            "Four grids for five words, queries as rows and keys as columns; cells above the "
            "diagonal are empty. Without a cache, a cell says how often its score is made: row by "
            "row, the first cell {anew}. With a cache a cell says in which step its score is made, "
            "each in one only. Prefill alone: {whole} in the rows from the top. Two words, then "
            "one at a time: {decode}. Chunks of two: {chunks}."
        ),
        "comma": ", ",
        "anew": ("no cache", "how often"),
        "whole": ("prefill", "5 words at once"),
        "decode": ("decode", "2, then 1 + 1 + 1"),
        "chunks": ("chunks", "2 + 2 + 1"),
        "query": "query ↓",
        "key": "key →",
    },
    "zh": {
        "title": "哪些分数在什么时候算",
        "desc": (
            "五个词，四个方格图，行是查询，列是键；对角线以上的格子是空的。没有缓存时，"
            "格子里写着这个分数要算几次，从上到下每行第一格是 {anew}。有缓存时，"
            "格子里写着它在第几步算，每个分数只算一次。只有预填充：从上到下各行是 {whole}。"
            "先两个词，再一个一个来：{decode}。每块两个词：{chunks}。"
        ),
        "comma": "、",
        "anew": ("没有缓存", "算几次"),
        "whole": ("预填充", "5 个词一次算完"),
        "decode": ("解码", "先 2，再 1 + 1 + 1"),
        "chunks": ("分块", "2 + 2 + 1"),
        "query": "查询 ↓",
        "key": "键 →",
    },
}


def steps(language: str) -> str:
    """Draw in which step each score is made, for several ways to cut the text."""
    text, size = _WHEN[language], 26
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


_RING = {
    "en": {
        "title": "A ring of four slots",
        "desc": (
            "Rows are steps, columns the four slots. A cell says which word the slot holds after "
            "the step; the word written in this step is shaded. Rows from the top: {rows}. From "
            "word 4 on, each new word takes the place of the oldest."
        ),
        "comma": "; ",
        "empty": "·",
        "word": "word {t} comes",
        "slot": "slot {slot}",
        "first": "word {first} falls out",
    },
    "zh": {
        "title": "四个槽位的环形缓冲区",
        "desc": (
            "行是步骤，列是四个槽位。格子里写着这一步之后该槽位存的是哪个词；填色的是这一步写入的词。"
            "从上到下各行：{rows}。从词 4 起，每个新词都占用最旧的词的槽位。"
        ),
        "comma": "；",
        "empty": "·",
        "word": "来了词 {t}",
        "slot": "槽位 {slot}",
        "first": "词 {first} 被顶替",
    },
}


def ring(language: str) -> str:
    """Draw what the slots of a ring hold from step to step."""
    text, rows = _RING[language], held()
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


_ALIGNMENT = {
    "en": {
        "title": "Two alignments of a causal mask",
        "desc": (
            "Four grids of zeros and ones, queries as rows and keys as columns; filled cells with "
            "a 1 may be attended to. Two new words and four keys: level with the first, as in "
            "PyTorch, {first 2 4}; level with the last, as a cache needs, {last 2 4}. Four queries "
            "and two keys: {first 4 2} and {last 4 2}."
        ),
        "join": (", ", " "),
        "first": ("first with first", "PyTorch's is_causal"),
        "last": ("last with last", "FlashAttention, cache"),
        "query": "query ↓",
        "key": "key →",
    },
    "zh": {
        "title": "因果掩码的两种对齐方式",
        "desc": (
            "四个由 0 和 1 组成的方格图，行是查询，列是键；填色、写着 1 的格子可以关注。"
            "两个新词、四个键：与首个对齐，PyTorch 如此，{first 2 4}；"
            "与末个对齐，缓存需要的是这种，{last 2 4}。"
            "四个查询、两个键：{first 4 2} 和 {last 4 2}。"
        ),
        "join": ("，", " "),
        "first": ("首个对首个", "PyTorch 的 is_causal"),
        "last": ("末个对末个", "FlashAttention，缓存"),
        "query": "查询 ↓",
        "key": "键 →",
    },
}


def alignment(language: str) -> str:
    """Draw both alignments for fewer queries than keys, and for more."""
    text, size = _ALIGNMENT[language], 26
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


def stored() -> dict[str, list[float]]:
    """Read each way's relative time at each length from the stored table."""
    lines = STORED.read_text(encoding="utf-8").splitlines()[2 : 2 + len(LENGTHS)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    numbers = [[float(cell.rstrip("×").replace(",", "")) for cell in row] for row in rows]
    return {
        name: list(column) for name, column in zip(WAYS, zip(*numbers, strict=True), strict=True)
    }


_MEASURED = {
    "en": {
        "title": "Time for one new word against the words so far",
        "desc": (
            "A chart with both axes logarithmic: words so far across, time for one new word "
            "upwards, as a multiple of the cache's at {first} words. {rows}."
        ),
        "row": "{name}: {values}",
        "join": ("; ", ", "),
        "x": "words so far",
        "y": "time for one new word",
        "read": "reading alone",
        "cached": "KVCache",
        "concatenated": "torch.cat",
        "repeated": "cat, repeated",
        "anew": "no cache",
    },
    "zh": {
        "title": "生成一个新词的时间与已有词数的关系",
        "desc": (
            "两个轴都是对数刻度的图：横轴是已有的词数，纵轴是生成一个新词的时间，"
            "以 {first} 个词时的缓存为 1。{rows}。"
        ),
        "row": "{name}：{values}",
        "join": ("；", "、"),
        "x": "已有的词数",
        "y": "生成一个新词的时间",
        "read": "只读缓存",
        "cached": "KVCache",
        "concatenated": "torch.cat",
        "repeated": "cat 加重复",
        "anew": "不用缓存",
    },
}
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
    text, found = _MEASURED[language], stored()
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(360, 280)
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
            place = (1.25 * LENGTHS[-1], 10 ** heights[name])
            axes.text(*place, text[name], va="center", gid=f"part:{name}-label")
        figure.text(246 / 360, 6 / 280, text["x"], ha="right", va="baseline")
        semicolon, comma = text["join"]
        rows = semicolon.join(
            text["row"].format(name=text[name], values=comma.join(f"{v:.2f}×" for v in found[name]))
            for name in _LOOK
        )
        desc = text["desc"].format(first=LENGTHS[0], rows=rows)
        return chart.finish(figure, f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("project", "place", "mask")),
    "steps": steps,
    "ring": ring,
    "alignment": alignment,
    "measured": measured,
}
