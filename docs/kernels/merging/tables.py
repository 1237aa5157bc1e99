"""What each rank of a ring computes, and the numbers that the chapter's sentences use."""

import math
from collections.abc import Callable

import torch

from attn_docs import load_models, ring_tiles
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

RANKS = 4
CHUNKS = 2 * RANKS  # of which zigzag gives each rank two
MODEL = load_models()["Llama-3.1-8B"]  # one new token, its keys on several machines
LAYERS, HEADS = MODEL.config.full_layers, MODEL.num_heads
KV_HEADS, HEAD_DIM = MODEL.config.num_kv_heads, MODEL.config.head_dim
MACHINES, KEYS = 8, MODEL.context
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


def splits(language: str) -> str:
    """Return the time of decoding in splits, on one thread and on two, as it was measured."""
    text, measured = texts(__file__, "splits", language), load(__file__)["splits"]
    rows, most = [], benchmark.PARTS[-1]
    for length in benchmark.LENGTHS:
        cells = [f"{length:,}", f"{measured('base', length=length)} ms"]
        for on, parts in ((1, most), (2, 1), (2, most)):
            of = {"length": length, "on": on, "parts": parts}
            cells.append(f"{measured('time', **of):.1f}×")
        rows.append(tuple(cells))
    return f"{table(text['header'], rows)}\n\n{measured.caption(text['caption'], language)}"


TABLES: dict[str, Callable[[str], str]] = {"splits": splits}


def ring_bytes() -> int:
    """Count the bytes of keys and values that a machine holds, and would send, in bfloat16."""
    held = KEYS // MACHINES
    return LAYERS * held * 2 * KV_HEADS * HEAD_DIM * 2


def merge_bytes() -> int:
    """Count the bytes of a query in bfloat16, and of an output and an LSE in float32."""
    return LAYERS * HEADS * (HEAD_DIM * 2 + HEAD_DIM * 4 + 4)


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    plain, even = (totals(zigzag=way) for way in (False, True))
    parts = 16  # of each key head: as many pieces as SMs, nearly
    read = KEYS // parts * 2 * HEAD_DIM * 2
    timed = {"on": 2, "length": benchmark.LENGTHS[-1]}
    took = [load(__file__)["splits"]("time", parts=p, **timed) for p in (1, *benchmark.PARTS)]
    return {
        "torch": READ_TORCH,
        "heads": str(HEADS),
        "processors": str(PROCESSORS),
        "idle": str(PROCESSORS - HEADS),
        "keys": f"{KEYS:,}",
        "machines": str(MACHINES),
        "kv_heads": str(KV_HEADS),
        "read": f"{read / 2**20:.0f} MiB",
        "shortest": f"{benchmark.LENGTHS[0]:,}",
        "whole_on_two": f"{took[0]:.1f}",
        "four_on_two": f"{took[-1]:.1f}",
        "parts": str(parts),
        "busy": str(parts * KV_HEADS),
        "sent": str(HEADS // KV_HEADS * (HEAD_DIM + 1)),
        "limit": f"{math.log(torch.finfo(torch.float32).max):.1f}",
        "lse_of_two_and_three": f"{math.log(math.exp(2) + math.exp(3)):.2f}",
        "base_two": f"{1 / math.log(2):.2f}",
        "plain_first": str(plain[0]),
        "plain_last": str(plain[-1]),
        "zigzag_each": str(even[0]),
        "even": f"{round(ring_bytes() / merge_bytes(), -2):,.0f}",
    }
