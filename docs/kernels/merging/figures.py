"""Figures of the chapter on merging: two machines and one sentence, and the tiles of a ring."""

import math
from collections.abc import Callable

import drawsvg
import torch

from attn_docs import ring_tiles
from attn_docs.sentence import MEANINGS, WORDS, embeddings, projections
from docs._kit.draw import ACCENT, INK, ON_ACCENT, arrow, box, canvas, finish, write
from docs._kit.text import texts

from .tables import CHUNKS, RANKS, tiles, totals

KEY = "kernels-merging"
ASKS, FIRST = 3, 3  # "it", and how many words machine A holds
NOUN = 8  # exp(score) of a noun
TERMS = (135, 266)  # where the two machines' terms of the merge stand


def machines() -> list[tuple[list[str], list[int], list[int]]]:
    """Return for each machine its words, their exponentiated scores, and its meanings' sums."""
    x = embeddings()
    w_q, w_k, w_v = projections(sharpness=math.log(NOUN))
    exps = ((x[ASKS] @ w_q) @ (x @ w_k).T).exp()
    mixed = exps.unsqueeze(-1) * (x @ w_v)  # m e, not yet divided
    return [
        (list(WORDS[at]), whole(exps[at]), whole(mixed[at].sum(0)))
        for at in (slice(0, FIRST), slice(FIRST, None))
    ]


def whole(numbers: torch.Tensor) -> list[int]:
    """Return what are integers but for rounding."""
    return [int(x) for x in numbers.round().tolist()]


def _fraction(part: int, of: int) -> str:
    return f"{part}/{of}" if part else "0"


def parts(language: str) -> str:
    """Draw the two machines, and what their results merge into."""
    text, drawing = texts(__file__, "parts", language), canvas(400, 308)
    told = machines()
    total = sum(sum(exps) for _, exps, _ in told)
    merged = [sum(sums) for sums in zip(*(sums for *_, sums in told), strict=True)]
    for index, machine in enumerate(told):
        _machine(drawing, text, 203 * index, "AB"[index], *machine)
        x = TERMS[index]
        arrow(drawing, (x, 162), (x, 200))
        label = text["weighs"].format(part=sum(machine[1]), whole=total)
        write(drawing, label, x + 9, 180, 12, text_anchor="start", font_weight="bold")
    box(drawing, 0, 202, 400, 106)
    write(drawing, text["merged"], 388, 217, 13, text_anchor="end", font_weight="bold")
    for index, meaning in enumerate(MEANINGS):
        _sum(drawing, 238 + 18 * index, meaning, [(m[1], m[2][index]) for m in told])
    desc = text["desc"].format(
        whole=total, merged=_told(merged, total, language), **_described(told, language)
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-parts", text["title"], desc, zoom=1.4)


def _sum(
    drawing: drawsvg.Drawing, y: float, meaning: str, told: list[tuple[list[int], int]]
) -> None:
    """Write what one meaning comes to: each machine's share times its output, added up."""
    total, merged = sum(sum(exps) for exps, _ in told), sum(part for _, part in told)
    group = drawsvg.Group(data_sum=meaning)
    write(group, meaning, 12, y, 12, text_anchor="start")
    for x, (exps, part) in zip(TERMS, told, strict=True):
        term = f"{sum(exps)}/{total} × {_fraction(part, sum(exps))}"
        write(group, term, x, y, 12, data_term=term)
    for sign, x in (("+", 202), ("=", 330)):
        write(group, sign, x, y, 12)
    result = {"text_anchor": "end", "font_weight": "bold", "data_merged": f"{merged}/{total}"}
    write(group, _fraction(merged, total), 388, y, 12, **result)
    drawing.append(group)


def _machine(  # one box
    drawing: drawsvg.Drawing,
    text: dict[str, str],
    left: float,
    letter: str,
    words: list[str],
    exps: list[int],
    sums: list[int],
) -> None:
    group = drawsvg.Group(data_machine=letter)
    box(group, left, 0, 197, 160)
    write(group, text["machine"].format(letter=letter), left + 98, 15, 13, font_weight="bold")
    start, end = {"text_anchor": "start"}, {"text_anchor": "end"}
    for label, x, anchor in (
        (text["key"], 8, start),
        (text["exp"], 91, end),
        (text["output"], 103, start),
    ):
        write(group, label, left + x, 38, 11.5, **anchor, fill_opacity=0.85)
    for index, (word, number) in enumerate(zip(words, exps, strict=True)):
        write(group, word, left + 8, 59 + 20 * index, 12, **start)
        write(group, str(number), left + 91, 59 + 20 * index, 12, **end)
    group.append(drawsvg.Line(left + 8, 130, left + 91, 130, stroke=INK, stroke_opacity=0.5))
    write(group, text["sum"], left + 8, 144, 12, **start, font_weight="bold")
    write(group, str(sum(exps)), left + 91, 144, 12, **end, font_weight="bold")
    for index, (meaning, part) in enumerate(zip(MEANINGS, sums, strict=True)):
        y = 59 + 20 * index
        write(group, meaning, left + 103, y, 12, **start)
        write(group, _fraction(part, sum(exps)), left + 190, y, 12, **end)
    drawing.append(group)


def _described(told: list[tuple[list[str], list[int], list[int]]], language: str) -> dict[str, str]:
    comma = ", " if language == "en" else "、"
    found = {}
    for letter, (words, exps, sums) in zip("ab", told, strict=True):
        found[f"words_{letter}"] = comma.join(words)
        found[f"exps_{letter}"] = comma.join(map(str, exps))
        found[f"sum_{letter}"] = str(sum(exps))
        found[f"output_{letter}"] = _told(sums, sum(exps), language)
    return found


def _told(sums: list[int], of: int, language: str) -> str:
    comma = ", " if language == "en" else "、"
    return comma.join(
        f"{meaning} {_fraction(part, of)}" for meaning, part in zip(MEANINGS, sums, strict=True)
    )


def ring(language: str) -> str:
    """Draw whose keys and values each rank holds in each step; those of rank 0 are lit."""
    text, drawing = texts(__file__, "ring", language), canvas(400, 194)
    width, height, pitch_x, pitch_y = 62, 26, 85, 42
    held = [[keys for ((_, keys),) in ring_tiles(rank, RANKS)] for rank in range(RANKS)]
    for step in range(RANKS):
        x = 76 + pitch_x * step
        write(drawing, text["step"].format(step=step), x + width / 2, 12, 12)
        for rank in range(RANKS):
            y = 30 + pitch_y * rank
            if step + 1 < RANKS:
                below = 30 + pitch_y * ((rank + 1) % RANKS)
                faint = 0.9 if held[rank][step] == 0 else 0.3
                group = drawsvg.Group(opacity=faint)
                arrow(group, (x + width, y + height / 2), (x + pitch_x, below + height / 2))
                drawing.append(group)
            keys = held[rank][step]
            lit = keys == 0
            group = drawsvg.Group(data_rank=rank, data_step=step, data_keys=keys)
            box(group, x, y, width, height, lit=lit)
            told = {"fill": ON_ACCENT, "font_weight": "bold"} if lit else {}
            write(group, f"K{keys} V{keys}", x + width / 2, y + height / 2, 12, **told)
            drawing.append(group)
    for rank in range(RANKS):
        y = 30 + pitch_y * rank + height / 2
        write(drawing, text["rank"].format(rank=rank), 0, y, 12, text_anchor="start")
    comma = ", " if language == "en" else "、"
    rows = text["comma"].join(
        text["row"].format(rank=rank, keys=comma.join(map(str, row)))
        for rank, row in enumerate(held)
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-ring", text["title"], desc, zoom=1.6)


def zigzag(language: str) -> str:
    """Draw which rank computes which tile in which step, in order and zigzag."""
    text, drawing, size = texts(__file__, "zigzag", language), canvas(400, 218), 20
    for index, (way, order) in enumerate((("plain", False), ("zigzag", True))):
        group, left, top = drawsvg.Group(data_way=way), 206 * index + 30, 54
        write(group, text[way], left + 80, 8, 13, font_weight="bold")
        write(group, text["keys"], left, 30, 12, text_anchor="start")
        write(group, text["rank"], left - 16, 46, 12)
        for row in range(CHUNKS):
            rank = min(row, CHUNKS - 1 - row) if order else row // 2
            write(group, str(rank), left - 16, top + (row + 0.5) * size, 12)
        cells = drawsvg.Group(fill=ACCENT, stroke=INK, stroke_opacity=0.35, data_tiles=way)
        for tile in tiles(zigzag=order):
            _tile(cells, group, tile, left, top, size)
        drawing.append(cells)
        drawing.append(group)
    comma = ", " if language == "en" else "、"
    desc = text["desc"].format(
        ranks=RANKS,
        chunks=CHUNKS,
        plain=comma.join(map(str, totals(zigzag=False))),
        zigzag=comma.join(map(str, totals(zigzag=True))),
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-zigzag", text["title"], desc, zoom=1.6)


def _tile(
    cells: drawsvg.Group,
    labels: drawsvg.Group,
    tile: tuple[int, int, int, int],
    left: float,
    top: float,
    size: float,
) -> None:
    rank, step, row, column = tile
    x, y = left + column * size, top + row * size
    shade = {"fill_opacity": 0.45 - 0.12 * step}
    if column > row:  # computed, and masked
        shade = {"fill_opacity": 0, "stroke_dasharray": "2 2"}
    cells.append(drawsvg.Rectangle(x, y, size, size, data_rank=rank, data_step=step, **shade))
    write(labels, str(step), x + size / 2, y + size / 2, 11.5)


FIGURES: dict[str, Callable[[str], str]] = {"parts": parts, "ring": ring, "zigzag": zigzag}
