"""Figures about masks."""

import functools
from collections.abc import Callable

import drawsvg
from torch import Tensor

from attn_docs import causal_mask, padding_mask, sliding_window_mask
from docs._kit.draw import INK, canvas, cells, finish, stage_line, write

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


def gallery_masks() -> dict[str, Tensor]:
    """Return the masks of the gallery by name: four words, the last one padding."""
    is_word = padding_mask([3], max_len=4)  # b m
    padding = is_word[:, None, :].expand(1, 4, 4)[0]
    return {
        "causal": causal_mask(4),
        "padding": padding,
        "both": causal_mask(4) & padding,
        "wrong": is_word[:, :, None].expand(1, 4, 4)[0],
    }


def alignment_masks() -> dict[str, Tensor]:
    """Return the causal masks of the figure of alignments by name."""
    return {
        f"{end} {n} {m}": causal_mask(n, m, offset=m - n if end == "last" else 0)
        for n, m in ((2, 4), (4, 2))
        for end in ("first", "last")
    }


def kind_masks() -> dict[str, Tensor]:
    """Return the four kinds that the explorer of masks combines, for five words."""
    return {
        "causal": causal_mask(5),
        "window": sliding_window_mask(5, window=2),
        "prefix": causal_mask(5) | padding_mask([2], 5),
        "padded": causal_mask(5) & padding_mask([4], 5),
    }


_GALLERY = {
    "en": {
        "title": "Four masks for four words of which the last is padding",
        "desc": (
            "Four grids with the queries as rows and the keys as columns; a filled cell may be "
            "attended to, a cell with a cross may not. Keys that queries 0 to 3 see: causal "
            "{causal}; padding {padding}, the last column is crossed out; causal & padding {both}; "
            "padding on the wrong axis {wrong}, the last row is crossed out instead of the last "
            "column."
        ),
        "comma": ", ",
        "query": "query",
        "key": "key",
        "may": "may attend",
        "may not": "may not",
        "causal": "causal",
        "padding": "padding, key 3",
        "both": "causal & padding",
        "wrong": "wrong: query axis",
    },
    "zh": {
        "title": "四个词的四种掩码，其中最后一个词是填充",
        "desc": (
            "四个方格图，行是查询，列是键；填色的格子可以关注，打叉的格子不可以。"
            "查询 0 到 3 依次能看到的键数：因果 {causal}；填充 {padding}，打叉的是最后一列；"
            "因果 & 填充 {both}；加错轴的填充 {wrong}，打叉的是最后一行，而不是最后一列。"
        ),
        "comma": "、",
        "query": "查询",
        "key": "键",
        "may": "可以关注",
        "may not": "不可以",
        "causal": "因果",
        "padding": "填充：键 3",
        "both": "因果 & 填充",
        "wrong": "错误：加在查询轴上",
    },
}
_ALIGNMENT = {
    "en": {
        **_GALLERY["en"],
        "title": "Causal masks when there are fewer or more queries than keys",
        "desc": (
            "Four grids with the queries as rows and the keys as columns; a filled cell may be "
            "attended to, a cell with a cross may not. Keys seen by each query in turn, 2 queries "
            "and 4 keys: {first 2 4} with the first query level with the first key, {last 2 4} "
            "with the last query level with the last key. 4 queries and 2 keys: {first 4 2} and "
            "{last 4 2}."
        ),
        **{f"first {sizes}": "first with first" for sizes in ("2 4", "4 2")},
        **{f"last {sizes}": "last with last" for sizes in ("2 4", "4 2")},
    },
    "zh": {
        **_GALLERY["zh"],
        "title": "查询比键少或比键多时的因果掩码",
        "desc": (
            "四个方格图，行是查询，列是键；填色的格子可以关注，打叉的格子不可以。"
            "每个查询依次能看到的键数，2 个查询、4 个键时：首个查询与首个键对齐，是 {first 2 4}；"
            "末个查询与末个键对齐，是 {last 2 4}。4 个查询、2 个键时：{first 4 2} 和 {last 4 2}。"
        ),
        **{f"first {sizes}": "首个对首个" for sizes in ("2 4", "4 2")},
        **{f"last {sizes}": "末个对末个" for sizes in ("2 4", "4 2")},
    },
}

_KINDS = {
    "en": {
        **_GALLERY["en"],
        "title": "Causal mask, sliding window, prefix, and a causal mask with padding",
        "desc": (
            "Four grids with the queries as rows and the keys as columns; a filled cell may be "
            "attended to, a cell with a cross may not. Keys that queries 0 to 4 see: causal "
            "{causal}; sliding window of two keys {window}; causal with a prefix of two keys that "
            "all see {prefix}; causal with key 4 as padding {padded}."
        ),
        "window": "window of 2",
        "prefix": "prefix of 2",
        "padded": "padding, key 4",
    },
    "zh": {
        **_GALLERY["zh"],
        "title": "因果掩码、滑动窗口、前缀，以及带填充的因果掩码",
        "desc": (
            "四个方格图，行是查询，列是键；填色的格子可以关注，打叉的格子不可以。"
            "查询 0 到 4 依次能看到的键数：因果 {causal}；宽度为 2 的滑动窗口 {window}；"
            "因果，外加所有查询可见的两键前缀 {prefix}；因果，键 4 是填充 {padded}。"
        ),
        "window": "窗口宽度 2",
        "prefix": "前缀长度 2",
        "padded": "填充：键 4",
    },
}


def _four(
    language: str, name: str, texts: dict[str, dict[str, str]], masks: dict[str, Tensor]
) -> str:
    """Draw four masks, two a row, each with its name, its axes named and its cells numbered."""
    text = texts[language]
    tops, bottom = [], 0
    for index in range(0, 4, 2):
        tops += [bottom, bottom]
        bottom += 57 + list(masks.values())[index].size(0) * _CELL + 20
    drawing = canvas(340, bottom + 24)
    for index, (which, mask) in enumerate(masks.items()):
        left, top = 179 * (index % 2), tops[index]
        group = drawsvg.Group(data_mask=which)
        write(group, text[which], left + 22, top + 8, text_anchor="start", font_weight="bold")
        write(group, f"{text['query']} ↓", left, top + 30, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 22 + 3.1 * _CELL, top + 30, 12)
        for query in range(mask.size(0)):
            write(group, str(query), left + 11, top + 57 + (query + 0.5) * _CELL, 12)
        for key in range(mask.size(1)):
            write(group, str(key), left + 22 + (key + 0.5) * _CELL, top + 48, 12)
        _grid(group, mask.tolist(), left + 22, top + 57)
        drawing.append(group)
    for label, allowed, left in (("may", True, 22), ("may not", False, 201)):
        _grid(drawing, [[allowed]], left, bottom)
        write(drawing, text[label], left + 32, bottom + 11.5, 12, text_anchor="start")
    seen = {
        which: text["comma"].join(str(count) for count in mask.sum(1).tolist())
        for which, mask in masks.items()
    }
    desc = text["desc"].format(**seen)
    return finish(drawing.as_svg(header=""), f"{KEY}-{name}", text["title"], desc)


def gallery(language: str) -> str:
    """Draw a causal and a padding mask, both together, and padding on the wrong axis."""
    return _four(language, "gallery", _GALLERY, gallery_masks())


def alignment(language: str) -> str:
    """Draw causal masks for n < m and n > m, aligned at the start and at the end."""
    return _four(language, "alignment", _ALIGNMENT, alignment_masks())


def kinds(language: str) -> str:
    """Draw the kinds of masks that the explorer combines."""
    return _four(language, "kinds", _KINDS, kind_masks())


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("mask",)),
    "causal-mask": causal,
    "gallery": gallery,
    "alignment": alignment,
    "kinds": kinds,
}
