"""Figures of the chapter on packing: rows, the mask, and its blocks."""

from collections.abc import Callable
from typing import cast

import drawsvg
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from attn_docs import document_ids, document_positions
from docs._kit.draw import ACCENT, ACCENT_2, INK, SOFT, canvas, finish, write
from docs._kit.text import texts

from .waste import document_lengths, first_fit

KEY = "kernels-packing"
LENGTHS = [3, 5, 2]
DRAWN, PACKED_ROOM = 12, 512  # documents drawn as rows, and the room of a drawn packed row
BLOCK_LENGTHS, BLOCK = [256, 64, 192], 64


def drawn_lengths() -> tuple[int, ...]:
    """Return the lengths of the documents that the figure of rows shows."""
    return tuple(x for x in document_lengths()[:40] if x <= PACKED_ROOM)[:DRAWN]


def rows(language: str) -> str:
    """Draw the same documents, once padded to the longest and once packed."""
    text, lengths = texts(__file__, "rows", language), drawn_lengths()
    order = list(range(DRAWN))
    packed = [
        [order.pop(next(k for k, i in enumerate(order) if lengths[i] == x)) for x in row]
        for row in first_fit(lengths, PACKED_ROOM)
    ]
    scale, high, longest = 372 / PACKED_ROOM, 20, max(lengths)
    drawing = canvas(398, 26 + (DRAWN + len(packed)) * high + 44)
    top = 26
    panels = {
        "padded": ([[i] for i in range(DRAWN)], longest),
        "packed": (packed, PACKED_ROOM),
    }
    for name, (lines, room) in panels.items():
        padding = 1 - sum(lengths) / (room * len(lines))
        group = drawsvg.Group(data_way=name, data_padding=f"{padding:.4f}")
        title = text[name].format(rows=len(lines), room=room, padding=f"{padding:.0%}")
        write(group, title, 2, top - 12, 12, text_anchor="start", font_weight="bold")
        for k, line in enumerate(lines):
            _row(group, [(i, lengths[i] * scale) for i in line], room * scale, top + k * high)
        drawing.append(group)
        top += len(lines) * high + 40
    desc = text["desc"].format(lengths=", ".join(map(str, lengths)), rows=len(packed))
    return finish(drawing.as_svg(header=""), f"{KEY}-rows", text["title"], desc, zoom=1.0)


def _row(group: drawsvg.Group, line: list[tuple[int, float]], room: float, y: float) -> None:
    """Draw one row: its documents, numbered, and what is left of it as padding."""
    x, height = 2.0, 16
    outline = {"stroke": INK, "stroke_opacity": 0.5, "stroke_dasharray": "3 3"}
    group.append(drawsvg.Rectangle(x, y, room, height, fill="none", **outline))
    for i, width in line:
        group.append(
            drawsvg.Rectangle(
                x, y, width, height, fill=ACCENT, fill_opacity=0.4, stroke=INK, data_document=i
            )
        )
        if width > 14:
            write(group, str(i + 1), x + width / 2, y + height / 2, 11)
        x += width


def mask(language: str) -> str:
    """Draw the mask of three packed documents, and what a causal mask alone lets through."""
    text = texts(__file__, "mask", language)
    ids, positions = document_ids(LENGTHS).tolist(), document_positions(LENGTHS).tolist()
    cell, left, top, n = 24, 96, 66, sum(LENGTHS)
    drawing = canvas(398, top + n * cell + 92)
    for name, values, y in (("ids", ids, 22), ("positions", positions, 44)):
        write(drawing, text[name], left - 8, y, 11, text_anchor="end")
        for j, value in enumerate(values):
            write(drawing, str(value), left + (j + 0.5) * cell, y, 12)
    kinds = [
        ["future" if j > i else "own" if ids[i] == ids[j] else "leak" for j in range(n)]
        for i in range(n)
    ]
    for i in range(n):
        label = text["query"].format(document=ids[i], position=positions[i])
        write(drawing, label, left - 8, top + (i + 0.5) * cell, 11, text_anchor="end")
    for k, kind in enumerate(("own", "leak", "future")):
        places = [(i, j) for i in range(n) for j in range(n) if kinds[i][j] == kind]
        corners = [(left + j * cell, top + i * cell) for i, j in places]
        drawing.append(_cells(kind, corners, cell))
        y = top + n * cell + 16 + k * 24
        drawing.append(_cells(f"legend {kind}", [(left - 70, y)], 18))
        write(drawing, text[kind], left - 44, y + 9, 12, text_anchor="start")
    desc = text["desc"].format(lengths=", ".join(map(str, LENGTHS)))
    return finish(drawing.as_svg(header=""), f"{KEY}-mask", text["title"], desc, zoom=1.05)


def _cells(kind: str, corners: list[tuple[float, float]], size: float) -> drawsvg.Group:
    """Draw pairs of tokens: filled where allowed, crossed where only causality allows them."""
    fills = {"own": (ACCENT, 0.8), "leak": (ACCENT_2, 0.35), "future": ("none", 1)}
    fill, opacity = fills[kind.removeprefix("legend ")]
    group = drawsvg.Group(data_kind=kind, fill=fill, fill_opacity=opacity, stroke=INK)
    for x, y in corners:
        group.append(drawsvg.Rectangle(x, y, size, size, stroke_opacity=0.35))
    if kind.endswith("leak"):
        cross = drawsvg.Path(fill="none", stroke_width=1.4)
        for x, y in corners:
            a, b = 0.3 * size, 0.4 * size
            cross.M(x + a, y + a).l(b, b).m(-b, 0).l(b, -b)
        group.append(cross)
    return group


def block_mask() -> BlockMask:
    """Return FlexAttention's blocks for the documents of the figure, causal."""
    ids, n = document_ids(BLOCK_LENGTHS), sum(BLOCK_LENGTHS)

    def mod(_b: Tensor, _h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return cast("Tensor", (q >= kv) & (ids[q] == ids[kv]))

    return create_block_mask(mod, None, None, n, n, device="cpu", BLOCK_SIZE=BLOCK)


def block_kinds() -> list[list[str]]:
    """Return for each block of queries and of keys whether it is full, partial or skipped."""
    found = block_mask()
    size = sum(BLOCK_LENGTHS) // BLOCK
    kinds = [["skipped"] * size for _ in range(size)]
    listed = {
        "partial": (found.kv_num_blocks, found.kv_indices),
        "full": (cast("Tensor", found.full_kv_num_blocks), cast("Tensor", found.full_kv_indices)),
    }
    for kind, (counts, indices) in listed.items():
        for i in range(size):
            for j in indices[0, 0, i, : int(counts[0, 0, i])].tolist():
                kinds[i][j] = kind
    return kinds


def blocks(language: str) -> str:
    """Draw which blocks FlexAttention computes whole, with the mask, or not at all."""
    text, kinds = texts(__file__, "blocks", language), block_kinds()
    size, cell, left, top = len(kinds), 26, 44, 34
    drawing = canvas(398, top + size * cell + 100)
    write(drawing, text["keys"], left, 10, 11, text_anchor="start")
    write(drawing, text["queries"], left + size * cell + 12, top + 8, 11, text_anchor="start")
    place = 0
    for k, length in enumerate(BLOCK_LENGTHS):
        wide = length / BLOCK * cell
        told = {"data_document": k, "data_size": length // BLOCK}
        write(drawing, str(k), left + place + wide / 2, top - 9, 11, data_axis="keys", **told)
        write(drawing, str(k), left - 14, top + place + wide / 2, 11, data_axis="queries", **told)
        place += wide
    for i, line in enumerate(kinds):
        for j, kind in enumerate(line):
            _block(drawing, kind, left + j * cell, top + i * cell, cell)
    counts = {
        kind: sum(line.count(kind) for line in kinds) for kind in ("full", "partial", "skipped")
    }
    for k, (kind, count) in enumerate(counts.items()):
        y = top + size * cell + 18 + k * 26
        _block(drawing, kind, left, y, 18)
        write(drawing, text[kind].format(count=count), left + 26, y + 9, 12, text_anchor="start")
    desc = text["desc"].format(size=size, **counts)
    return finish(drawing.as_svg(header=""), f"{KEY}-blocks", text["title"], desc, zoom=1.05)


def _block(drawing: drawsvg.Drawing, kind: str, x: float, y: float, size: float) -> None:
    """Draw one block: filled if whole, a filled triangle if its mask is read, empty if skipped."""
    fill, opacity = (ACCENT, 0.8) if kind == "full" else (SOFT if kind == "partial" else "none", 1)
    drawing.append(
        drawsvg.Rectangle(
            x,
            y,
            size,
            size,
            fill=fill,
            fill_opacity=opacity,
            stroke=INK,
            stroke_opacity=0.5,
            data_block=kind,
        )
    )
    if kind == "partial":
        triangle = drawsvg.Path(fill=ACCENT, fill_opacity=0.8)
        drawing.append(triangle.M(x, y).l(0, size).l(size, 0).Z())


FIGURES: dict[str, Callable[[str], str]] = {"rows": rows, "mask": mask, "blocks": blocks}
