"""Figures about masks."""

from collections.abc import Callable

import drawsvg

from attn_docs import causal_mask
from attn_docs.figures._draw import INK, canvas, cells, finish, write

KEY = "foundations-masks"
QUERIES, KEYS = 4, 6

_CAUSAL = {
    "en": {
        "title": "Two causal masks for 4 queries and 6 keys",
        "desc": (
            "Two grids with the queries as rows and the keys as columns; a filled cell may be "
            "attended to, a cell with a cross may not. With offset 0, queries 0 to 3 see "
            "{seen_0} keys: the first query is level with the first key. With offset 2 they see "
            "{seen_2} keys: the last query is level with the last key."
        ),
        "comma": ", ",
        "query": "query",
        "key": "key",
        "may": "may attend",
        "may not": "may not",
        "0": "first with first",
        "2": "last with last",
    },
    "zh": {
        "title": "4 个查询、6 个键的两种因果掩码",
        "desc": (
            "两个方格图，行是查询，列是键；填色的格子可以关注，打叉的格子不可以。"
            "offset 为 0 时，查询 0 到 3 依次能看到 {seen_0} 个键：第一个查询与第一个键对齐。"
            "offset 为 2 时，依次能看到 {seen_2} 个键：最后一个查询与最后一个键对齐。"
        ),
        "comma": "、",
        "query": "查询",
        "key": "键",
        "may": "可以关注",
        "may not": "不可以",
        "0": "首个查询对首个键",
        "2": "末个查询对末个键",
    },
}


_CELL = 23
_FILLED = 0.8


def causal(language: str) -> str:
    """Draw the causal mask of 4 queries and 6 keys, aligned at the start and at the end."""
    text = _CAUSAL[language]
    drawing = canvas(340, 204)
    masks = {offset: causal_mask(QUERIES, KEYS, offset=offset) for offset in (0, 2)}
    for (offset, mask), left in zip(masks.items(), (0, 179), strict=True):
        group = drawsvg.Group(data_offset=offset)
        write(group, f"offset = {offset}", left + 22, 8, text_anchor="start", font_weight="bold")
        write(group, text[str(offset)], left + 22, 26, 12, text_anchor="start")
        write(group, f"{text['query']} ↓", left, 48, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 22 + 3.5 * _CELL, 48, 12)
        for query in range(QUERIES):
            write(group, str(query), left + 11, 75 + (query + 0.5) * _CELL, 12)
        for key in range(KEYS):
            write(group, str(key), left + 22 + (key + 0.5) * _CELL, 66, 12)
        _grid(group, mask.tolist(), left + 22, 75)
        drawing.append(group)
    for label, allowed, left in (("may", True, 22), ("may not", False, 201)):
        _grid(drawing, [[allowed]], left, 180)
        write(drawing, text[label], left + 32, 191.5, 12, text_anchor="start")
    seen = {
        f"seen_{offset}": text["comma"].join(str(count) for count in mask.sum(1).tolist())
        for offset, mask in masks.items()
    }
    desc = text["desc"].format(**seen)
    return finish(drawing.as_svg(header=""), f"{KEY}-causal-mask", text["title"], desc)


def _grid(
    parent: drawsvg.DrawingParentElement, allowed: list[list[bool]], x: float, y: float
) -> None:
    """Draw a mask: filled cells where attending is allowed, crosses where it is not."""
    cells(parent, [[_FILLED * cell for cell in row] for row in allowed], x, y, _CELL, _CELL)
    crosses = drawsvg.Path(fill="none", stroke=INK, stroke_opacity=0.7)
    for row, line in enumerate(allowed):
        for column, cell in enumerate(line):
            if not cell:
                left, top = x + column * _CELL + 8, y + row * _CELL + 8
                crosses.M(left, top).l(7, 7).m(-7, 0).l(7, -7)
    if not all(map(all, allowed)):
        parent.append(crosses)


FIGURES: dict[str, Callable[[str], str]] = {"causal-mask": causal}
