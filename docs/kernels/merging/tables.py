"""What each rank of a ring computes, and the numbers that the chapter's sentences use."""

import math
from collections.abc import Callable

import torch

from attn_docs import ring_tiles
from docs._kit.markdown import table
from docs._kit.text import texts

RANKS = 4
CHUNKS = 2 * RANKS  # of which zigzag gives each rank two
# Llama 3 8B, one new token, its keys on several machines
LAYERS, HEADS, KV_HEADS, HEAD_DIM = 32, 32, 8, 128
MACHINES, KEYS = 8, 131_072
PROCESSORS = 132  # of an H100 SXM
READ_TORCH = "2.13"  # the release whose source was read


def tiles(*, zigzag: bool) -> list[tuple[int, int, int, int]]:
    """Return rank, step, row and column of every tile of a chunk by a chunk that is computed."""
    width = CHUNKS // (CHUNKS if zigzag else RANKS)  # a rank's chunk in order is two of these
    return [
        (rank, step, width * a + row, width * b + column)
        for rank in range(RANKS)
        for step, planned in enumerate(ring_tiles(rank, RANKS, is_causal=True, zigzag=zigzag))
        for a, b in planned
        for row in range(width)
        for column in range(width)
    ]


def counts(*, zigzag: bool) -> list[list[int]]:
    """Return how many tiles each rank computes in each step."""
    found = [[0] * RANKS for _ in range(RANKS)]
    for rank, step, *_ in tiles(zigzag=zigzag):
        found[rank][step] += 1
    return found


def totals(*, zigzag: bool) -> list[int]:
    """Return how many tiles each rank computes in all."""
    return [sum(row) for row in counts(zigzag=zigzag)]


def longest(*, zigzag: bool) -> list[int]:
    """Return for each step the tiles of the rank that has most: all others wait for it."""
    return [max(step) for step in zip(*counts(zigzag=zigzag), strict=True)]


def work(language: str) -> str:
    """Return the tiles of each rank in each step, in order and zigzag."""
    text = texts(__file__, "work", language)
    first, step, total = text["header"]
    header = [first, *(step.format(step=s) for s in range(RANKS)), total]
    named = [
        (text["ranks"].format(rank=rank), *(counts(zigzag=way)[rank] for way in (False, True)))
        for rank in range(RANKS)
    ]
    named.append((text["longest"], *(longest(zigzag=way) for way in (False, True))))
    rows = (
        (
            name,
            *(f"{a} → {b}" for a, b in zip([*plain, sum(plain)], [*even, sum(even)], strict=True)),
        )
        for name, plain, even in named
    )
    caption = text["caption"].format(ranks=RANKS, chunks=CHUNKS)
    return f"{table(header, rows)}\n\n{caption}"


TABLES: dict[str, Callable[[str], str]] = {"work": work}


def ring_bytes() -> int:
    """Count the bytes of keys and values that come past a machine for one token, in bfloat16."""
    held = KEYS // MACHINES
    return LAYERS * (MACHINES - 1) * held * 2 * KV_HEADS * HEAD_DIM * 2


def merge_bytes() -> int:
    """Count the bytes of a query in bfloat16, and of an output and an LSE in float32."""
    return LAYERS * HEADS * (HEAD_DIM * 2 + HEAD_DIM * 4 + 4)


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    plain, even = (totals(zigzag=way) for way in (False, True))
    sent, read = HEAD_DIM + 1, KEYS // MACHINES * 2 * HEAD_DIM
    return {
        "torch": READ_TORCH,
        "heads": str(HEADS),
        "processors": str(PROCESSORS),
        "idle": str(PROCESSORS - HEADS),
        "keys": f"{KEYS:,}",
        "machines": str(MACHINES),
        "read": f"{read / 1e6:.1f}",
        "sent": str(sent),
        "limit": f"{math.log(torch.finfo(torch.float32).max):.1f}",
        "lse_of_two_and_three": f"{math.log(math.exp(2) + math.exp(3)):.2f}",
        "base_two": f"{1 / math.log(2):.2f}",
        "plain_first": str(plain[0]),
        "plain_last": str(plain[-1]),
        "zigzag_each": str(even[0]),
        "plain_wait": str(sum(longest(zigzag=False))),
        "zigzag_wait": str(sum(longest(zigzag=True))),
        "ring": f"{ring_bytes() / 2**30:.0f} GiB",
        "even": f"{round(ring_bytes() / (MACHINES - 1) / merge_bytes(), -2):,.0f}",
        "merge": f"{merge_bytes() / 2**10:.0f} KiB",
    }
