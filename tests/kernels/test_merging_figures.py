"""The figures and the table of the chapter on merging show what is computed."""

import math
from fractions import Fraction

import pytest
import torch

from attn_docs import attention_with_lse
from attn_docs.sentence import MEANINGS, embeddings, projections
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("kernels/merging", "figures")
tables = page_module("kernels/merging", "tables")
languages = pytest.mark.parametrize("language", ["en", "zh"])


def output(at: slice) -> list[Fraction]:
    x = embeddings().double()
    w_q, w_k, w_v = (w.double() for w in projections(sharpness=math.log(8)))
    found, _ = attention_with_lse(x[3:4] @ w_q, x[at] @ w_k, x[at] @ w_v, scale=1.0)
    return [Fraction(part).limit_denominator(100) for part in found[0].tolist()]


@languages
def test_machines_and_their_merged_output_are_what_attention_gives(language: str) -> None:
    root = parse(figures.parts(language))
    for machine, at in (("A", slice(0, 3)), ("B", slice(3, 5))):
        (group,) = (g for g in root.iter("g") if g.get("data-machine") == machine)
        words = [text.text for text in group.iter("text")]
        shown = [Fraction(words[words.index(meaning) + 1]) for meaning in MEANINGS]
        assert shown == output(at)
    merged = [text for text in root.iter("text") if text.get("data-merged")]
    assert [Fraction(text.get("data-merged")) for text in merged] == output(slice(0, 5))
    assert all(text.text.endswith(text.get("data-merged")) for text in merged)
    sums = [g for g in root.iter("g") if g.get("data-sum")]
    assert [g.get("data-sum") for g in sums] == list(MEANINGS)
    for group in sums:
        terms = [text.text.split(" × ") for text in group.iter("text") if text.get("data-term")]
        (result,) = (text.text for text in group.iter("text") if text.get("data-merged"))
        assert sum(Fraction(a) * Fraction(b) for a, b in terms) == Fraction(result)


@languages
@pytest.mark.parametrize("way", ["plain", "zigzag"])
def test_each_tile_stands_in_its_ranks_row_and_bears_the_step_in_which_its_keys_come(
    language: str, way: str
) -> None:
    root = parse(figures.zigzag(language))
    (cells,) = (g for g in root.iter("g") if g.get("data-tiles") == way)
    (labels,) = (g for g in root.iter("g") if g.get("data-way") == way)
    texts = {(text.get("x"), text.get("y")): text.text for text in labels.iter("text")}
    tiles = list(cells.iter("rect"))
    left, top = (min(float(tile.get(axis)) for tile in tiles) for axis in "xy")
    chunks, ranks = tables.CHUNKS, tables.RANKS
    holder = [min(c, chunks - 1 - c) if way == "zigzag" else c // 2 for c in range(chunks)]
    seen = torch.zeros(chunks, chunks, dtype=torch.bool)
    for tile in tiles:
        x, y = float(tile.get("x")), float(tile.get("y"))
        row, column = round((y - top) / 20), round((x - left) / 20)
        rank, step = int(tile.get("data-rank")), int(tile.get("data-step"))
        assert rank == holder[row]
        assert step == (rank - holder[column]) % ranks
        assert f"{step}" in {
            text for (at, _), text in texts.items() if at and abs(float(at) - x - 10) < 1
        }
        seen[row, column] = True
        assert ("stroke-dasharray" in tile.attrib) == (column > row)
    assert seen.tril().sum() == chunks * (chunks + 1) // 2


@languages
def test_keys_go_from_each_rank_to_the_next_and_visit_all(language: str) -> None:
    root = parse(figures.ring(language))
    held = {
        (int(g.get("data-rank")), int(g.get("data-step"))): int(g.get("data-keys"))
        for g in root.iter("g")
        if g.get("data-keys")
    }
    ranks = tables.RANKS
    assert len(held) == ranks**2
    for (rank, step), keys in held.items():
        assert step or keys == rank
        if step + 1 < ranks:
            assert held[(rank + 1) % ranks, step + 1] == keys
    assert all({held[rank, s] for s in range(ranks)} == set(range(ranks)) for rank in range(ranks))
