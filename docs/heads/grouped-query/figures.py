"""Figures of the chapter on grouped-query attention."""

import functools
from collections.abc import Callable
from pathlib import Path

import drawsvg
import torch

from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    ON_ACCENT,
    box,
    canvas,
    cells,
    finish,
    stage_line,
    write,
)

from .benchmark import NAMES, WAYS

KEY = "heads-grouped-query"
HEADS = 4
PANELS = {"multi-head": 4, "grouped-query": 2, "multi-query": 1}
MAP_HEADS, MAP_KV_HEADS = 6, 3
STORED = Path(__file__).with_name("measured") / "forms.md"
_FILLED = 0.8

_SHARING = {
    "en": {
        "title": "Who shares a key head and a value head",
        "desc": (
            "Three panels, each with 4 query heads in the upper row and the key and value heads "
            "below, joined by lines. Multi-head: 4 key and value heads, one for each query head. "
            "Grouped-query: 2, query heads 1 and 2 share the first, 3 and 4 the second. "
            "Multi-query: 1, shared by all. The query heads of the first group are highlighted."
        ),
        "multi-head": "multi-head",
        "grouped-query": "grouped-query",
        "multi-query": "multi-query",
    },
    "zh": {
        "title": "谁与谁共用键头和值头",
        "desc": (
            "三个部分，上排都是 4 个查询头，下面是键头和值头，用线连起来。多头：4 个键头和值头，"
            "每个查询头一个。分组查询：2 个，查询头 1 和 2 共用第一个，3 和 4 共用第二个。"
            "多查询：1 个，由所有查询头共用。突出显示的是第一组的查询头。"
        ),
        "multi-head": "多头",
        "grouped-query": "分组查询",
        "multi-query": "多查询",
    },
}


def sharing(language: str) -> str:
    """Draw which query head reads which key and value head, in the three kinds of attention."""
    text = _SHARING[language]
    drawing = canvas(340, 166)
    for (panel, kv_heads), left in zip(PANELS.items(), (0, 120, 240), strict=True):
        group = drawsvg.Group(data_panel=panel)
        write(group, text[panel], left + 50, 8, 12, font_weight="bold")
        size = HEADS // kv_heads
        for head in range(HEADS):
            kv_head = head // size
            x, below = left + 12.5 + 25 * head, left + 12.5 + 25 * ((kv_head + 0.5) * size - 0.5)
            lit = kv_head == 0
            colour = ACCENT if lit else INK
            line = {"stroke": colour, "stroke_width": 2 if lit else 1}
            group.append(drawsvg.Line(x, 48, below, 108, **line, data_query=head, data_key=kv_head))
            _head(group, f"Q{head + 1}", x, 36, lit=lit)
        for kv_head in range(kv_heads):
            below = left + 12.5 + 25 * ((kv_head + 0.5) * size - 0.5)
            for name, y in (("K", 120), ("V", 148)):
                _head(group, f"{name}{kv_head + 1}", below, y, lit=kv_head == 0)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-sharing", text["title"], text["desc"])


def _head(parent: drawsvg.Group, name: str, x: float, y: float, *, lit: bool) -> None:
    box(parent, x - 11, y - 12, 22, 24, lit=lit, rx=4)
    emphasis = {"fill": ON_ACCENT, "font_weight": "bold"} if lit else {}
    write(parent, name, x, y, 12, **emphasis)


def mappings() -> dict[str, list[int]]:
    """Return, for each way to repeat, the key head that each query head reads."""
    key_heads, group = torch.arange(MAP_KV_HEADS), MAP_HEADS // MAP_KV_HEADS
    return {
        "repeat_interleave": key_heads.repeat_interleave(group).tolist(),
        "repeat": key_heads.repeat(group).tolist(),
    }


_MAPPING = {
    "en": {
        "title": "Which query head reads which key head",
        "desc": (
            "Two grids with 6 query heads as rows and 3 key heads as columns; a filled cell says "
            "that this query head reads this key head. With repeat_interleave, which is right, "
            "query heads 0 to 5 read key heads {repeat_interleave}. With repeat, which is wrong, "
            "they read {repeat}."
        ),
        "comma": ", ",
        "query": "query head",
        "key": "key head",
        "repeat_interleave": "right",
        "repeat": "wrong",
    },
    "zh": {
        "title": "哪个查询头读哪个键头",
        "desc": (
            "两个方格图，6 行是查询头，3 列是键头；填色的格子表示这个查询头读这个键头。"
            "用 repeat_interleave 是对的，查询头 0 到 5 依次读键头 {repeat_interleave}。"
            "用 repeat 是错的，依次读键头 {repeat}。"
        ),
        "comma": "、",
        "query": "查询头",
        "key": "键头",
        "repeat_interleave": "正确",
        "repeat": "错误",
    },
}


def mapping(language: str) -> str:
    """Draw the matrix of query head against key head for repeat_interleave and for repeat."""
    text, size = _MAPPING[language], 23
    drawing = canvas(340, 224)
    found = mappings()
    for (way, read), left in zip(found.items(), (0, 180), strict=True):
        group = drawsvg.Group(data_mapping=way)
        write(group, f"{way}()", left, 8, text_anchor="start", font_weight="bold")
        write(group, text[way], left, 27, 12, text_anchor="start")
        write(group, f"{text['query']} ↓", left, 67, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 86, 48, 12, text_anchor="start")
        for row in range(MAP_HEADS):
            write(group, str(row), left + 70, 84 + (row + 0.5) * size, 12)
        for column in range(MAP_KV_HEADS):
            write(group, str(column), left + 86 + (column + 0.5) * size, 67, 12)
        shades = [[_FILLED * (column == key) for column in range(MAP_KV_HEADS)] for key in read]
        cells(group, shades, left + 86, 84, size, size)
        drawing.append(group)
    desc = text["desc"].format(
        **{way: text["comma"].join(map(str, read)) for way, read in found.items()}
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-mapping", text["title"], desc)


def stored() -> dict[str, tuple[float, float]]:
    """Read each form's relative time and peak memory for one word from the stored table."""
    lines = STORED.read_text(encoding="utf-8").splitlines()[2 : 2 + len(WAYS)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        name: (float(time.rstrip("×")), float(memory.split()[0].replace(",", "")))
        for name, (_, time, memory, *_) in zip(WAYS, rows, strict=True)
    }


_MEASURED = {
    "en": {
        "title": "Time and memory of the forms, for one word",
        "desc": (
            "Bars for each form, one query and 8,192 keys: time over the repeat form's, and peak "
            "memory. {rows}."
        ),
        "row": "{name}: {time:.2f}×, {memory:.0f} MiB",
        "comma": "; ",
        "time": "time",
        "memory": "peak memory",
    },
    "zh": {
        "title": "生成一个词时，各种写法的时间和内存",
        "desc": (
            "每种写法两根条，1 个查询，8,192 个键：相对于重复写法的时间，以及峰值内存。{rows}。"
        ),
        "row": "{name}：{time:.2f}×，{memory:.0f} MiB",
        "comma": "；",
        "time": "时间",
        "memory": "峰值内存",
    },
}


def measured(language: str) -> str:
    """Draw the stored measurement of one word as bars."""
    text, values = _MEASURED[language], stored()
    names = {name: shown.replace("`", "") for name, shown in NAMES[language].items()}
    most = [max(column) for column in zip(*values.values(), strict=True)]
    drawing = canvas(340, 28 + 54 * len(values))
    for label, colour, left in (("time", ACCENT, 0), ("memory", ACCENT_2, 120)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, text[label], left + 18, 10, 12, text_anchor="start")
    for index, (name, pair) in enumerate(values.items()):
        top = 28 + 54 * index
        group = drawsvg.Group(data_form=name)
        write(group, names[name], 0, top + 8, 12, text_anchor="start", font_weight="bold")
        shown = (f"{pair[0]:.2f}×", f"{pair[1]:.0f} MiB")
        for row, (value, full, colour) in enumerate(
            zip(pair, most, (ACCENT, ACCENT_2), strict=True)
        ):
            y, width = top + 18 + 14 * row, 270 * value / full
            kind = ("time", "memory")[row]
            group.append(drawsvg.Rectangle(0, y, width, 12, fill=colour, data_bar=kind))
            write(group, shown[row], width + 6, y + 6, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=names[name], time=pair[0], memory=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("project", "split", "score", "mix")),
    "sharing": sharing,
    "mapping": mapping,
    "measured": measured,
}
