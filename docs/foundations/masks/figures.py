"""Figures about masks."""

from collections.abc import Callable

import drawsvg
from torch import Tensor

from attn_docs import causal_mask, padding_mask, sliding_window_mask
from docs._kit.draw import INK, canvas, cells, finish, write
from docs._kit.text import texts

KEY = "foundations-masks"
QUERIES, KEYS = 4, 6

_CELL = 23
_FILLED = 0.8


def causal(language: str) -> str:
    """Draw the causal mask of 4 queries and 6 keys, aligned at the start and at the end."""
    text = texts(__file__, "grid", language) | texts(__file__, "causal-mask", language)
    drawing = canvas(340, 204)
    masks = {offset: causal_mask(QUERIES, KEYS, offset=offset) for offset in (0, 2)}
    for (offset, mask), left in zip(masks.items(), (0, 179), strict=True):
        group = drawsvg.Group(data_offset=offset)
        write(group, f"offset = {offset}", left + 22, 8, text_anchor="start", font_weight="bold")
        write(group, text[f"offset_{offset}"], left + 22, 26, 12, text_anchor="start")
        write(group, f"{text['query']} ↓", left, 48, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 22 + 3.5 * _CELL, 48, 12)
        for query in range(QUERIES):
            write(group, str(query), left + 11, 75 + (query + 0.5) * _CELL, 12)
        for key in range(KEYS):
            write(group, str(key), left + 22 + (key + 0.5) * _CELL, 66, 12)
        _grid(group, mask.tolist(), left + 22, 75)
        drawing.append(group)
    for label, allowed, left in (("may", True, 22), ("may_not", False, 201)):
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


def _four(language: str, name: str, masks: dict[str, Tensor]) -> str:
    """Draw four masks, two a row, each with its name, its axes named and its cells numbered."""
    text = texts(__file__, "grid", language) | texts(__file__, name, language)
    tops, bottom = [], 0
    for index in range(0, 4, 2):
        tops += [bottom, bottom]
        bottom += 57 + list(masks.values())[index].size(0) * _CELL + 20
    drawing = canvas(340, bottom + 24)
    for index, (which, mask) in enumerate(masks.items()):
        left, top = 179 * (index % 2), tops[index]
        group = drawsvg.Group(data_mask=which)
        write(
            group,
            text[which.split()[0]],
            left + 22,
            top + 8,
            text_anchor="start",
            font_weight="bold",
        )
        write(group, f"{text['query']} ↓", left, top + 30, 12, text_anchor="start")
        write(group, f"{text['key']} →", left + 22 + 3.1 * _CELL, top + 30, 12)
        for query in range(mask.size(0)):
            write(group, str(query), left + 11, top + 57 + (query + 0.5) * _CELL, 12)
        for key in range(mask.size(1)):
            write(group, str(key), left + 22 + (key + 0.5) * _CELL, top + 48, 12)
        _grid(group, mask.tolist(), left + 22, top + 57)
        drawing.append(group)
    for label, allowed, left in (("may", True, 22), ("may_not", False, 201)):
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
    return _four(language, "gallery", gallery_masks())


def alignment(language: str) -> str:
    """Draw causal masks for n < m and n > m, aligned at the start and at the end."""
    return _four(language, "alignment", alignment_masks())


def kinds(language: str) -> str:
    """Draw the kinds of masks that the explorer combines."""
    return _four(language, "kinds", kind_masks())


FIGURES: dict[str, Callable[[str], str]] = {
    "causal-mask": causal,
    "gallery": gallery,
    "alignment": alignment,
    "kinds": kinds,
}
