"""What tiles read, write and hold, counted and measured, and the form that steps through them."""

import math
from collections.abc import Callable
from typing import NamedTuple

from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import FORMS, HEAD_DIM, LENGTHS

# the text of the first sentence: tokens, heads, size of a head, bytes of an element
TOKENS, HEADS, SIZE, BYTES = 16_384, 32, 128, 2
TILE_ROWS = (32, 64, 128, 256)
# Attention of GPT-2 medium (64 texts), forward and backward on an A100, figure 2 of
# FlashAttention: arithmetic in GFLOP, HBM reads and writes in GB, milliseconds; standard, then
# tiles. Of the arithmetic only the ratio is used: by our count it is twelve times as much.
PUBLISHED_LENGTH = 1024
PUBLISHED = {"arithmetic": (66.6, 75.2), "moved": (40.3, 4.4), "time": (41.7, 7.3)}
# elements of a head that at least pass through the HBM if the L2 cache holds its keys and values:
# inputs and output, and in the explicit form scores and weights, written and read
HBM = {"explicit": 4 * TOKENS**2 + 4 * TOKENS * SIZE, "tiles": 4 * TOKENS * SIZE}
# the releases of flash-attn that changed the causal mask and added the deterministic backward
LOWER_RIGHT, DETERMINISTIC = "2.1", "2.4"
LENGTH, DIM = 8, 4  # of the explorer


class State(NamedTuple):
    """What the explorer shows."""

    rows: int
    columns: int
    causal: bool
    step: int


FIRST = State(2, 2, causal=False, step=7)


def explicit_moved(length: int, size: int, rows: int) -> int:
    """Return the elements that the explicit forward moves, with so many rows a tile.

    Tiles of the scores are square, those of the output have all its columns.
    """
    blocks = math.ceil(length / rows)
    return 4 * length**2 + blocks * length * 3 * size + length * size


def tiles_moved(length: int, size: int, rows: int) -> int:
    """Return the elements that the tiled forward reads and writes, with so many queries a tile."""
    return length * (2 * size + 1) + math.ceil(length / rows) * length * 2 * size


def moved_gib(elements: int) -> float:
    """Return the GiB of so many elements of each head."""
    return elements * HEADS * BYTES / 2**30


def tiles_of(length: int, rows: int, columns: int, *, causal: bool) -> list[tuple[slice, slice]]:
    """Return the tiles of a text in their order; those that a causal mask hides are not made."""
    found = []
    for top in range(0, length, rows):
        bottom = min(top + rows, length)
        seen = bottom if causal else length
        lefts = range(0, seen, columns)
        found += [(slice(top, bottom), slice(at, min(at + columns, seen))) for at in lefts]
    return found


def cells(state: State) -> list[list[str]]:
    """Return a mark for each query and key: made now or before, skipped, or not yet made."""
    marks = [["×"] * LENGTH for _ in range(LENGTH)]
    made = tiles_of(LENGTH, state.rows, state.columns, causal=state.causal)
    for number, (rows, columns) in enumerate(made, 1):
        mark = "■" if number == state.step else "●" if number < state.step else ""
        for i in range(rows.start, rows.stop):
            marks[i][columns] = [mark] * (columns.stop - columns.start)
    return marks


def told(state: State) -> dict[str, int]:
    """Return the numbers of the explorer's sentence."""
    made = tiles_of(LENGTH, state.rows, state.columns, causal=state.causal)
    spent = []
    for number, (rows, columns) in enumerate(made):
        high, wide = rows.stop - rows.start, columns.stop - columns.start
        last = number + 1 == len(made) or made[number + 1][0] != rows
        queries, outputs = high * DIM * (columns.start == 0), high * (DIM + 1) * last
        spent.append(queries + wide * 2 * DIM + outputs)
    rows, columns = made[state.step - 1]
    high, wide = rows.stop - rows.start, columns.stop - columns.start
    return {
        "step": state.step,
        "count": len(made),
        "top": rows.start,
        "bottom": rows.stop - 1,
        "left": columns.start,
        "right": columns.stop - 1,
        "moved": sum(spent[: state.step]),
        "total": sum(spent),
        "rows": state.rows,
        "whole": explicit_moved(LENGTH, DIM, state.rows),
        "held": 2 * high * (DIM + 1) + wide * 2 * DIM + high * wide,
    }


def explorer(language: str) -> str:
    """Return the form that steps through tiles, with what it shows at first."""
    text, found = texts(__file__, "explorer", language), told(FIRST)
    said = text.pop("said")
    return fill(
        __file__,
        **text,
        said=said,
        length=LENGTH,
        size=DIM,
        blocks=(1, 2, 4, 8),
        first={**FIRST._asdict(), "count": found["count"]},
        cells=cells(FIRST),
        told=said.format(**found),
    )


def forms(language: str) -> str:
    """Return the measured memory and time of forward and backward."""
    text, found = texts(__file__, "forms", language), load(__file__)["forms"]
    names = texts(__file__, "names", language)
    rows = [
        (
            f"{length:,}",
            *(f"{found('memory', form=name, length=length):.1f}" for name in FORMS),
            *(f"{found('time', form=name, length=length):,.0f}" for name in FORMS),
        )
        for length in LENGTHS
    ]
    header = [text["length"]]
    header += [
        text["column"].format(name=names[name], unit=unit)
        for unit in ("MiB", "ms")
        for name in FORMS
    ]
    caption = found.caption(text["caption"].format(size=HEAD_DIM), language)
    return f"{table(header, rows, ())}\n\n{caption}"


TABLES: dict[str, Callable[[str], str]] = {
    "explorer": explorer,
    "forms": forms,
}


def of_a_long_text() -> dict[str, str]:
    """Return the sizes of the page's long text, and what moves for it, by name."""
    return {
        "tokens": f"{TOKENS:,}",
        "matrix": f"{HEADS * TOKENS**2 * BYTES / 2**30:.0f} GiB",
        "output": f"{HEADS * TOKENS * SIZE * BYTES / 2**20:.0f} MiB",
        "head_keys": f"{2 * TOKENS * SIZE * BYTES / 2**20:.0f} MiB",
        "head_scores": f"{TOKENS**2 * BYTES / 2**20:.0f} MiB",
        "hbm_tiles": f"{moved_gib(HBM['tiles']):.1f} GiB",
        "hbm_explicit": f"{moved_gib(HBM['explicit']):.1f} GiB",
        **{
            f"share_{rows}": f"{tiles_moved(*of, rows) / explicit_moved(*of, rows):.2f}"
            for rows in (64, 128)
            for of in [(TOKENS, SIZE)]
        },
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences name."""
    found, tiles = load(__file__)["forms"], load(__file__)["tiles"]
    longest, half = LENGTHS[-1], LENGTHS[-2]

    def memory(form: str, length: int = longest) -> float:
        return found("memory", form=form, length=length)

    def time(form: str) -> float:
        return found("time", form=form, length=longest)

    return {
        **of_a_long_text(),
        "lower_right": LOWER_RIGHT,
        "deterministic": DETERMINISTIC,
        "kept_tiles": f"{len(tiles_of(TOKENS, 64, 64, causal=True)):,}",
        "all_tiles": f"{len(tiles_of(TOKENS, 64, 64, causal=False)):,}",
        "longest": f"{longest:,}",
        "half": f"{half:,}",
        "memory_explicit": f"{memory('explicit'):,.0f} MiB",
        "memory_tiles": f"{memory('tiles'):.1f} MiB",
        "growth_explicit": f"{memory('explicit') / memory('explicit', half):.1f}",
        "growth_tiles": f"{memory('tiles') / memory('tiles', half):.1f}",
        "slower_explicit": f"{time('tiles') / time('explicit'):.1f}",
        "torch_explicit": f"{time('torch') / time('explicit'):.2f}",
        "block_256": f"{tiles('block', block=256):.1f}",
        "published_length": f"{PUBLISHED_LENGTH:,}",
        "heads": str(HEADS),
        "size": str(SIZE),
        **{f"published_{what}": f"{PUBLISHED[what][1]}" for what in ("moved", "time")},
        **{f"published_{what}_before": f"{PUBLISHED[what][0]}" for what in ("moved", "time")},
        "published_more": f"{PUBLISHED['arithmetic'][1] / PUBLISHED['arithmetic'][0] - 1:.0%}",
    }
